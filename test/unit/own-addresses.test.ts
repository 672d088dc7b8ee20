import { expect, test } from "bun:test";
import { createJudge } from "#worker/egress/judge.ts";
import { createOwnAddresses } from "#worker/egress/own-addresses.ts";

/** What a decision of the gate costs: every connection of every page waits for one (rules/egress#never-reachable). */

test("which ports are lanes' is asked for addresses of this machine alone", () => {
  const asked: number[] = [];
  const isNeighbours = (port: number) => {
    asked.push(port);
    return false;
  };
  const counting = createJudge({ navigation_block: [], own_ports: [], isNeighbours });
  for (const address of ["192.0.2.1", "10.0.0.1", "2001:db8::1"]) counting.refusal(address, 443);
  expect(asked).toEqual([]);
  counting.refusal("127.0.0.1", 80);
  expect(asked).toEqual([80]);
});

test("the addresses of this machine are listed once a second, in whatever form they are asked for", () => {
  let now = 0;
  let listed = 0;
  const isOwn = createOwnAddresses(
    () => {
      listed += 1;
      return { eth0: listed === 1 ? [] : [{ address: "10.1.2.3" }] };
    },
    () => now,
  );
  expect(["10.1.2.3", "nothing", ""].filter(isOwn)).toEqual([]);
  now = 999;
  expect([isOwn("10.1.2.3"), listed]).toEqual([false, 1]);
  now = 1_000;
  const own = ["10.1.2.3", "::ffff:10.1.2.3", "0x0a010203"];
  expect([...own, "10.1.2.4"].filter(isOwn)).toEqual(own);
  expect(listed).toBe(2);
});

import { expect, test } from "bun:test";
import { createJudge } from "#worker/egress/judge.ts";
import { type OpenSocket, reach } from "#worker/egress/reach.ts";

/** What a gate decides about an address holds when it connects to it (rules/egress#never-reachable). */

const SERVER = "192.0.2.1";
const opening = (opened: string[], first: () => Promise<never>): OpenSocket<string> => {
  return (address) => {
    opened.push(address);
    return { opened: opened.length === 1 ? first() : Promise.resolve(address), abandon: () => {} };
  };
};
const lanes = new Set<number>();
const judge = createJudge({
  navigation_block: [],
  own_ports: [],
  isNeighbours: (port) => lanes.has(port),
});

test("an address that waited for another one is judged again before it is connected to", async () => {
  const resolve = async () => [SERVER, "127.0.0.1"];
  const opened: string[] = [];
  // Meanwhile a lane of another worker begins there.
  const open = opening(opened, async () => {
    lanes.add(9_223);
    throw Object.assign(new Error("silent"), { code: "ETIMEDOUT" });
  });
  const refused = reach({ judge, resolve, open }, "rebound.test", 9_223);
  expect(await refused.catch(({ failure }) => failure)).toBe("connection_timed_out");
  expect(opened).toEqual([SERVER]);
});

test("an address that waited and is still allowed is connected to", async () => {
  const resolve = async () => [SERVER, "127.0.0.1"];
  const opened: string[] = [];
  const open = opening(opened, async () => {
    throw Object.assign(new Error("silent"), { code: "ETIMEDOUT" });
  });
  expect(await reach({ judge, resolve, open }, "site.test", 80)).toMatchObject({
    address: "127.0.0.1",
  });
});

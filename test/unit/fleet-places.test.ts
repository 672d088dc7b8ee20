import { expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFleetPlaces } from "#worker/egress/fleet-places.ts";
import { createJudge } from "#worker/egress/judge.ts";

const NAMES: Record<string, string[]> = {
  "hub.test": ["10.0.0.5", "fd00::5"],
  "here.test": ["127.0.0.1"],
};
const resolve = async (host: string) => {
  const found = NAMES[host];
  if (!found) throw new Error("ENOTFOUND");
  return found;
};
const placesOf = (...own: Parameters<typeof createFleetPlaces>[0]) =>
  createFleetPlaces(own, { resolve, clock: systemClock, log: silentLog });
const at = (host: string, from: number, is: "hub" | "bridge" = "hub", to = from) => ({
  host,
  from,
  to,
  is,
});

test("a hub is refused by its name and by every address of it, at its port alone", async () => {
  const places = placesOf(at("hub.test", 8000));
  await places.settled();
  const judge = createJudge({ navigation_block: [], own_ports: [], protected: places });
  for (const address of ["10.0.0.5", "::ffff:10.0.0.5", "fd00::5", "64:ff9b::a00:5"])
    expect(judge.refusal(address, 8000)).toContain("is a hub of this fleet");
  expect(judge.refusalOfPlace("HUB.test.", 8000)).toContain("is a hub of this fleet");
  expect(judge.refusal("10.0.0.5", 8001)).toBeNull();
  expect(judge.refusal("10.0.0.6", 8000)).toBeNull();
});

test("one on this machine is refused at every address of the machine", async () => {
  const places = placesOf(at("here.test", 8000));
  await places.settled();
  for (const address of ["127.0.0.1", "127.9.9.9", "::1"])
    expect(places.at(address, 8000)).not.toBeNull();
});

test("what the hub tells takes the place of what it told before, beside what the worker dials", async () => {
  const places = placesOf(at("hub.test", 8000));
  places.tell([at("10.0.0.9", 6080, "bridge", 6081)]);
  await places.settled();
  expect(places.at("10.0.0.9", 6081)).toBe("is a viewer bridge of this fleet");
  expect(places.at("10.0.0.5", 8000)).toBe("is a hub of this fleet");
  places.tell([]);
  await places.settled();
  expect(places.at("10.0.0.9", 6081)).toBeNull();
});

test("a name that does not resolve is refused as a name", async () => {
  const places = placesOf(at("gone.test", 8000));
  await places.settled();
  expect(places.named("gone.test", 8000)).not.toBeNull();
});

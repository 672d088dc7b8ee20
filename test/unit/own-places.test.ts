import { expect, test } from "bun:test";
import { placesOf } from "#hub/platform/cluster/own-places.ts";

/** Where a hub says that it listens, so that no lane opens it (rules/egress#never-reachable). */

test("a hub behind a router with another port tells of the router's port and of its own", () => {
  const config = { public_base_url: null, host: "10.0.0.5" };
  const advertise = { url: "https://hubs.example", port: 8_000 };
  expect(placesOf({ config, advertise } as never, "hub")).toEqual([
    { host: "hubs.example", from: 443, to: 443, is: "hub" },
    { host: "10.0.0.5", from: 8_000, to: 8_000, is: "hub" },
  ]);
});

test("one that does not listen yet tells of its names alone", () => {
  const config = { public_base_url: "http://hub:8000", host: "10.0.0.5" };
  const advertise = { url: "", port: null };
  expect(placesOf({ config, advertise } as never, "hub")).toEqual([
    { host: "hub", from: 8_000, to: 8_000, is: "hub" },
  ]);
});

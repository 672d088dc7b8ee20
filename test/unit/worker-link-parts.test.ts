import { describe, expect, test } from "bun:test";
import { ConfigError } from "#shared/kit/env.ts";
import { firstLanAddress } from "#shared/kit/lan-address.ts";
import { workerIdFromAddress } from "#shared/protocol/ids.ts";
import { lanAddress } from "#worker/link/address.ts";
import { reconnectDelay, refusalAdvice } from "#worker/link/backoff.ts";
import { parseHubUrl } from "#worker/link/hub-url.ts";

describe("HUB_URL (rules/workers#variables-of-a-worker)", () => {
  for (const [raw, link, http] of [
    ["ws://hub:8000", "ws://hub:8000/workers/w1/link", "http://hub:8000"],
    ["http://hub:8000/", "ws://hub:8000/workers/w1/link", "http://hub:8000"],
    ["wss://hub.example", "wss://hub.example/workers/w1/link", "https://hub.example"],
    [
      "https://hub.example/fleet/",
      "wss://hub.example/fleet/workers/w1/link",
      "https://hub.example/fleet",
    ],
    ["ws://[::1]:9", "ws://[::1]:9/workers/w1/link", "http://[::1]:9"],
  ] as const)
    test(`${raw} is dialled at ${link}`, () => {
      const hub = parseHubUrl(raw);
      expect([hub.link("w1"), hub.http]).toEqual([link, http]);
    });

  test("the port follows from the scheme when it is not given", () => {
    expect([parseHubUrl("ws://h").port, parseHubUrl("https://h").port]).toEqual([80, 443]);
  });

  for (const raw of ["hub:8000", "ftp://hub", "not an address", ""])
    test(`"${raw}" is refused by name`, () => {
      expect(() => parseHubUrl(raw)).toThrow(ConfigError);
      expect(() => parseHubUrl(raw)).toThrow("HUB_URL");
    });
});

describe("reconnect backoff", () => {
  test("doubles from 0.2 s to 10 s, half of it jitter", () => {
    const at = (random: number) =>
      [0, 1, 5, 6, 50].map((n) => reconnectDelay(n, 1006, () => random));
    expect(at(1)).toEqual([200, 400, 6_400, 10_000, 10_000]);
    expect(at(0)).toEqual([100, 200, 3_200, 5_000, 5_000]);
  });
  test("is 15 to 30 s after a refusal, however often", () => {
    for (const code of [4401, 4409, 4410]) {
      expect(reconnectDelay(0, code, () => 0)).toBe(15_000);
      expect(reconnectDelay(9, code, () => 1)).toBe(30_000);
      expect(refusalAdvice(code)).not.toBeNull();
    }
    expect(refusalAdvice(1006)).toBeNull();
  });
});

describe("worker_id from the LAN address (rules/workers#worker-id)", () => {
  const entry = (address: string, internal = false) => ({
    address,
    internal,
    family: "IPv4" as const,
    netmask: "255.255.255.0",
    mac: "00:00:00:00:00:00",
    cidr: `${address}/24`,
  });
  const interfaces = {
    lo: [entry("127.0.0.1", true)],
    docker0: [entry("172.17.0.1")],
    eth1: [entry("169.254.3.4")],
    eth0: [entry("192.168.7.23")],
  };

  test("is w and the last two octets", () => {
    expect(workerIdFromAddress("192.168.7.23")).toBe("w723");
  });
  test("a real interface comes before a container bridge; loopback and link-local never count", () => {
    expect(firstLanAddress(interfaces)).toBe("192.168.7.23");
    expect(firstLanAddress({ docker0: interfaces.docker0 })).toBe("172.17.0.1");
    expect(firstLanAddress({ lo: interfaces.lo, eth1: interfaces.eth1 })).toBe("127.0.0.1");
  });
  test("a hub on this machine gives the first LAN address", async () => {
    expect(await lanAddress(parseHubUrl("ws://127.0.0.1:8000"), interfaces)).toBe("192.168.7.23");
  });
  test("a hub that cannot be looked up gives the first LAN address", async () => {
    expect(await lanAddress(parseHubUrl("ws://hub.invalid:8000"), interfaces)).toBe("192.168.7.23");
  });
});

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { hostname } from "node:os";
import type { HubMode } from "#hub/platform/config.ts";
import { machineNames } from "#hub/platform/http/own-names.ts";
import {
  type Attacked,
  attack,
  attackAll,
  startAttacked,
} from "#test/support/clients/attack-calls.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { startCluster } from "#test/support/rigs/cluster.ts";
import { testServers } from "#test/support/servers/test-servers.ts";
import { FOREIGN_HOSTS, HOSTS } from "./lists/callers.ts";

/** DNS rebinding: a page whose own name leads to the server speaks to it as its own origin; only its Host tells it apart. */

setDefaultTimeout(300_000);

let attacked: Attacked | undefined;
afterEach(async () => {
  await attacked?.hub.close();
  attacked = undefined;
});

const HEALTH = { method: "GET", path: "/health" };
const asked = async (host: string) => {
  if (!attacked) throw new Error("not started");
  const { status, refused_by } = await attack(attacked.hub, HEALTH, { host });
  return refused_by ?? status;
};

for (const mode of ["hub", "dev", "control"] satisfies HubMode[])
  test(`every route of ${mode} mode refuses a name that is not its own`, async () => {
    attacked = await startAttacked(mode);
    const { hub, rows } = attacked;
    const found = await attackAll(rows, async (row) => {
      const { status, refused_by } = await attack(hub, row, { host: "evil.example" });
      return { status, refused_by };
    });
    const told = rows.map(({ method, path }) => [
      `${method} ${path}`,
      { status: 421, refused_by: "host" },
    ]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(told));
  });

test("addresses, localhost, the machine's names and that of PUBLIC_BASE_URL are its own", async () => {
  attacked = await startAttacked("hub", {
    PUBLIC_BASE_URL: "https://fleet.example/hub",
    SVC_ADVERTISE_URL: "http://hub-1.example:8000",
  });
  for (const host of [
    ...["127.0.0.1", "127.0.0.1:80", "192.168.1.1:8000", "[::1]:8000", "[fe80::1]"],
    ...["localhost", "LOCALHOST:8000", "localhost.", "hub.localhost"],
    ...[hostname(), `${hostname().split(".")[0]}.local:8000`],
    ...["fleet.example", "Fleet.Example:443", "hub-1.example"],
  ])
    expect({ host, is: await asked(host) }).toEqual({ host, is: 200 });
  const tried = attempting(HOSTS);
  for (const [i, host] of FOREIGN_HOSTS.entries()) {
    expect({ host, is: await asked(host) }).toEqual({ host, is: "host" });
    tried.refused(HOSTS.attempts[i] ?? "");
  }
});

test("SVC_ALLOWED_HOSTS adds names, and * allows any", async () => {
  attacked = await startAttacked("hub", { SVC_ALLOWED_HOSTS: "Fleet.Example, other.example" });
  expect(await asked("fleet.example:8000")).toBe(200);
  expect(await asked("OTHER.example")).toBe(200);
  expect(await asked("evil.example")).toBe("host");
  await attacked.hub.close();
  attacked = await startAttacked("hub", { SVC_ALLOWED_HOSTS: "*" });
  expect(await asked("evil.example")).toBe(200);
});

test("the refusal says what to do, and the log tells each name once", async () => {
  attacked = await startAttacked("hub");
  const { hub } = attacked;
  const call = () => hub.call("GET", "/health", undefined, { headers: { host: "evil.example" } });
  expect(await call()).toMatchObject({
    status: 421,
    body: {
      detail:
        "this server is not called evil.example: if it should be, name it in SVC_ALLOWED_HOSTS",
    },
  });
  await call();
  const told = hub.log.filter(({ host }) => host === "evil.example");
  expect(told).toHaveLength(1);
  expect(String(told[0]?.message)).toContain("SVC_ALLOWED_HOSTS");
});

test("hubs answer to each other's names, as each tells them (rules/access#own-names)", async () => {
  const { postgres } = await testServers();
  const cluster = await startCluster({
    db_url: await postgres.createDatabase(),
    envs: [{}, { SVC_ALLOWED_HOSTS: "second.example", PUBLIC_BASE_URL: "http://told.example" }],
  });
  try {
    const [first] = cluster.hubs;
    if (!first) throw new Error("no hub");
    const ask = async (host: string) => (await attack(first, HEALTH, { host })).refused_by;
    expect(await ask("second.example")).toBeNull();
    expect(await ask("told.example")).toBeNull();
    expect(await ask("evil.example")).toBe("host");
  } finally {
    await cluster.close();
  }
});

test.each([
  ["hub-1", [], [], ["hub-1", "hub-1.local"]],
  ["HUB-1.corp.example", [], [], ["hub-1.corp.example", "hub-1", "hub-1.local"]],
  [
    "hub-1",
    [
      "127.0.0.1 localhost # hub-1.comment",
      "127.0.1.1\thub-1.corp.example hub-1",
      "0.0.0.0 ads.example",
    ],
    ["nameserver 10.0.0.1", "search lan corp.example"],
    ["hub-1", "hub-1.local", "hub-1.lan", "hub-1.corp.example"],
  ],
])(
  "the machine %s is called what its operator called it, and not what it blocks",
  (name, hosts, resolv, told) => {
    expect(new Set(machineNames(name, hosts, resolv))).toEqual(new Set(told));
  },
);

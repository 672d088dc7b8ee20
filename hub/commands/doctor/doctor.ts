import type { EnvSource } from "#shared/env.ts";
import { EXIT, UsageError } from "../../cli/exit.ts";
import { createHubClient } from "../../cli/hub-client.ts";
import { formatTable, type Terminal } from "../../cli/print.ts";
import { loadHubConfig } from "../../config.ts";
import { ROLES, type Role } from "../install/roles.ts";
import type { CommandDeps } from "../migrate.ts";
import { checkBrowser, checkDisplay, checkScripts } from "./browser.ts";
import { type Check, type CheckDeps, setting, told } from "./check.ts";
import { checkHub, checkHubClock, checkHubs, checkSecret, checkWorkerVersions } from "./hub.ts";
import {
  checkDisk,
  checkFonts,
  checkPorts,
  checkPrograms,
  checkServerPort,
  checkSharedMemory,
} from "./machine.ts";
import { checkNamespaces } from "./namespaces.ts";
import { checkSandbox } from "./sandbox.ts";
import { checkDatabase, checkObjects, checkRedis } from "./stores.ts";
import { checkUpdates } from "./updates.ts";

const DEFAULT_HUB = "http://localhost:8000";

/** Where the hub of this machine's worker is. */
function hubTarget(env: EnvSource) {
  const given = ["SVC_HUB", "HUB_URL", "SVC_CONTROL_URL"].map((name) => setting(env, name));
  const address = given.find((url) => url !== null) ?? null;
  return {
    client: createHubClient(address ?? DEFAULT_HUB, setting(env, "SVC_API_TOKEN") ?? undefined),
    named: address !== null,
    secret: setting(env, "WORKER_SECRET"),
  };
}

async function checkWorker(deps: CheckDeps): Promise<Check[]> {
  const hub = hubTarget(deps.env);
  const [programs, ...rest] = await Promise.all([
    checkPrograms(deps),
    told("browser start", () => checkBrowser(deps)),
    told("display", () => checkDisplay(deps)),
    told("user namespaces", () => checkNamespaces(deps)),
    told("fonts", () => checkFonts(deps)),
    told("fonts CJK, emoji", () => checkScripts(deps)),
    told("/dev/shm", () => checkSharedMemory()),
    told("disk", () => checkDisk(deps)),
    told("lane ports", () => checkPorts(deps)),
    told("hub", () => checkHub(hub)),
    told("clock", () => checkHubClock(hub)),
    told("worker link", () => checkSecret(hub)),
    told("worker versions", () => checkWorkerVersions(hub)),
  ]);
  return [...programs, ...rest];
}

/** A hub or a control plane. @throws ConfigError naming what is wrong in its variables. */
async function checkServer(deps: CheckDeps, role: "hub" | "control"): Promise<Check[]> {
  const config = loadHubConfig(deps.env, {}, role);
  const { redis_url, redis_prefix } = config;
  return Promise.all([
    told("port", () => checkServerPort(config.port, config.host)),
    told("disk", () => checkDisk(deps)),
    told("database", () => checkDatabase(config)),
    ...(redis_url === null ? [] : [told("redis", () => checkRedis(redis_url))]),
    ...(redis_url === null || role !== "hub"
      ? []
      : [told("hubs", () => checkHubs(redis_url, redis_prefix))]),
    told("objects", () => checkObjects(config)),
    told("worker updates", () => checkUpdates(config)),
    ...(role === "hub"
      ? [
          told("user namespaces", () => checkNamespaces(deps)),
          told("script sandbox", () => checkSandbox({ ...config, path: deps.path })),
        ]
      : []),
  ]);
}

function readRole(word: string | undefined): Role {
  const role = ROLES.find((r) => r === (word ?? "worker"));
  if (role === undefined) throw new UsageError(`"${word}" is not one of ${ROLES.join(", ")}`);
  return role;
}

/**
 * `flotilla doctor [hub|worker|control]`: what this machine lacks to be one, and what it is to talk to. Changes nothing.
 * @returns 0, or 1 when a check failed.
 */
export async function runDoctor(
  [word]: string[],
  { env, overrides, flags, terminal }: CommandDeps,
): Promise<number> {
  const role = readRole(word);
  const settings = { ...env, ...overrides };
  const deps = { env: settings, path: settings.PATH ?? "" };
  const checks = role === "worker" ? await checkWorker(deps) : await checkServer(deps, role);
  const ok = checks.every(({ status }) => status !== "fail");
  if (flags.json !== undefined) terminal.out(`${JSON.stringify({ ok, checks }, null, 2)}\n`);
  else terminal.out(`${tableOf(checks, terminal)}\n`);
  return ok ? EXIT.ok : EXIT.failed;
}

const tableOf = (checks: Check[], terminal: Terminal): string =>
  formatTable(
    [
      { title: "check" },
      { title: "status" },
      { title: "found", shrink: 20 },
      { title: "what to do", shrink: 20 },
    ],
    checks.map(({ name, status, found, advice }) => [
      name,
      status === "fail" ? "FAIL" : status,
      found,
      advice,
    ]),
    terminal.width,
  );

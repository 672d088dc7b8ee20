import { loadHubConfig } from "#hub/platform/config.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { workerSecret } from "#shared/kit/secret.ts";
import { EXIT, UsageError } from "../../cli/exit.ts";
import { DEFAULT_HUB } from "../../cli/flags.ts";
import { createHubClient } from "../../cli/hub-client.ts";
import { formatTable, type Terminal } from "../../cli/print.ts";
import { isS3 } from "../backup/places.ts";
import { ROLES, type Role } from "../install/roles.ts";
import type { CommandDeps } from "../migrate.ts";
import { checkAccess } from "./access.ts";
import { checkBodies } from "./bodies.ts";
import { checkBrowser, checkDisplay, checkScripts } from "./browser.ts";
import { checkCertificate } from "./certificate.ts";
import { type Check, type CheckDeps, setting, told } from "./check.ts";
import { checkDatabase } from "./database.ts";
import {
  checkHub,
  checkHubClock,
  checkHubs,
  checkOwnHealth,
  checkSecret,
  checkWorkerVersions,
} from "./hub.ts";
import { checkInstalled, hintInstalled, thisMachine } from "./installed.ts";
import {
  checkDisk,
  checkFonts,
  checkPorts,
  checkPrograms,
  checkServerPort,
  checkSharedMemory,
  checkVideos,
} from "./machine.ts";
import { checkNames } from "./names.ts";
import { checkNamespaces } from "./namespaces.ts";
import { checkOwnUpdates } from "./own-updates.ts";
import { checkSandbox } from "./sandbox.ts";
import { checkSecrets } from "./secrets.ts";
import { checkObjects, checkShared } from "./stores.ts";
import { checkUpdates } from "./updates.ts";
import { checkVersions } from "./versions.ts";

/** Where the hub of this machine's worker is. */
function hubTarget(env: EnvSource) {
  const names = ["SVC_HUB", "HUB_URL", "SVC_CONTROL_URL"];
  const named = names.find((name) => setting(env, name) !== null) ?? null;
  const address = named === null ? DEFAULT_HUB : (setting(env, named) ?? DEFAULT_HUB);
  return {
    client: createHubClient(address, setting(env, "SVC_API_TOKEN") ?? undefined),
    named,
    secret: workerSecret(
      setting(env, "WORKER_SECRET") ?? undefined,
      setting(env, "SVC_API_TOKEN") ?? undefined,
    ),
  };
}

async function checkWorker(deps: CheckDeps): Promise<Check[]> {
  const hub = hubTarget(deps.env);
  const namespaces = told("user namespaces", () => checkNamespaces(deps));
  const [programs, ...rest] = await Promise.all([
    checkPrograms(deps),
    told("browser start", async () => checkBrowser(deps, await namespaces)),
    told("display", () => checkDisplay(deps)),
    namespaces,
    told("fonts", () => checkFonts(deps)),
    told("fonts CJK, emoji", () => checkScripts(deps)),
    told("/dev/shm", () => checkSharedMemory()),
    told("disk", () => checkDisk(deps)),
    told("lane ports", () => checkPorts(deps)),
    told("updates", () => checkOwnUpdates(deps)),
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
  const { shared_store } = config;
  // The default was not chosen by anybody.
  const names = { ...config, public_base_url: setting(deps.env, "PUBLIC_BASE_URL") };
  const namespaces = told("user namespaces", () => checkNamespaces(deps));
  return Promise.all([
    told("port", () => checkServerPort(config.port, config.host)),
    ...(config.tls === null ? [] : [told("certificate", async () => checkCertificate(names))]),
    told("health", () => checkOwnHealth(config)),
    told("tokens", () => checkAccess(config)),
    told("disk", () => checkDisk(deps)),
    told("database", () => checkDatabase(config)),
    ...(shared_store === null ? [] : [told(shared_store.driver, () => checkShared(shared_store))]),
    ...(shared_store === null || role !== "hub"
      ? []
      : [told("hubs", () => checkHubs(shared_store))]),
    told("objects", () => checkObjects(config)),
    ...(isS3(config.objects_url) ? [told("bucket versions", () => checkVersions(config))] : []),
    told("bodies", () => checkBodies(config)),
    told("worker updates", () => checkUpdates(config)),
    ...(role === "hub"
      ? [
          told("secrets", () => checkSecrets(config)),
          told("videos", async () => checkVideos(deps, config.ffmpeg)),
          namespaces,
          told("script sandbox", async () =>
            checkSandbox({ ...config, path: deps.path }, await namespaces),
          ),
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
 * `flotilla doctor [hub|worker|control]`: what this machine lacks to run one, and whether it reaches what it must talk
 * to. Changes nothing. `--installed`: checks as the service installed here.
 * @returns 0, or 1 when a check failed.
 */
export async function runDoctor(
  [word, name, ...more]: string[],
  { env, overrides, origins, flags, terminal }: CommandDeps,
): Promise<number> {
  const role = readRole(word);
  const machine = thisMachine(flags.prefix?.at(-1));
  const installed = flags.installed !== undefined;
  if (more.length > 0 || (name !== undefined && !installed))
    throw new UsageError(
      `unexpected word "${name}" after doctor ${role}: --installed takes a name`,
    );
  const words = name === undefined ? [role] : [role, name];
  const settings = { ...env, ...overrides };
  const deps = { env: settings, path: settings.PATH ?? "" };
  const here = () => (role === "worker" ? checkWorker(deps) : checkServer(deps, role));
  const hint = installed ? null : await hintInstalled(role, machine);
  const checks = installed
    ? await checkInstalled(words, machine)
    : [...(hint ? [hint] : []), checkNames({ env: settings, origins }), ...(await here())];
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

import { errorMessage } from "#shared/errors.ts";
import {
  type Check,
  type CheckDeps,
  checkDisk,
  checkFonts,
  checkPorts,
  checkPrograms,
  checkSharedMemory,
} from "./doctor-checks.ts";
import { EXIT } from "./exit.ts";
import type { HubClient } from "./hub-client.ts";
import { formatTable, type Terminal } from "./print.ts";

export interface DoctorDeps extends CheckDeps {
  client: HubClient;
  terminal: Terminal;
}

const HUB_MS = 5_000;

/** A hub that was named must answer; the default one may not be started yet. */
async function checkHub({ client, env }: DoctorDeps): Promise<Check> {
  const name = "hub";
  const named = Boolean(env.SVC_HUB?.trim());
  try {
    const { status, body } = await client.call("GET", "/health", undefined, HUB_MS);
    const health = (body ?? {}) as { status?: unknown; workers?: unknown; version?: unknown };
    const found = `${client.url}: ${health.status ?? status}, ${health.workers ?? 0} workers, version ${health.version ?? "unknown"}`;
    if (status === 200 && health.status === "ok") return { name, status: "ok", found, advice: "" };
    return { name, status: "fail", found, advice: "look at the hub's log" };
  } catch (err) {
    return {
      name,
      status: named ? "fail" : "warn",
      found: errorMessage(err),
      advice: "start one (flotilla dev), or set SVC_HUB to its address",
    };
  }
}

/** A check that breaks is a finding of its own. */
const told = (name: string, check: Promise<Check>): Promise<Check> =>
  check.catch((err) => ({ name, status: "fail", found: errorMessage(err), advice: "" }));

/**
 * `flotilla doctor`: what this machine lacks to run a worker, and whether the hub answers.
 * @returns 0, or 1 when a check failed.
 */
export async function runDoctorCommand(deps: DoctorDeps, json: boolean): Promise<number> {
  const { terminal } = deps;
  const [programs, ...rest] = await Promise.all([
    checkPrograms(deps),
    told("fonts", checkFonts(deps)),
    told("/dev/shm", checkSharedMemory()),
    told("disk", checkDisk(deps)),
    told("lane ports", checkPorts(deps)),
    checkHub(deps),
  ]);
  const checks = [...programs, ...rest];
  const ok = checks.every(({ status }) => status !== "fail");
  if (json) terminal.out(`${JSON.stringify({ ok, checks }, null, 2)}\n`);
  else
    terminal.out(
      `${formatTable(
        [
          { title: "check" },
          { title: "status" },
          { title: "found", shrink: 20 },
          { title: "what to do", shrink: 20 },
        ],
        checks.map(({ name, status, found, advice }) => [name, status, found, advice]),
        terminal.width,
      )}\n`,
    );
  return ok ? EXIT.ok : EXIT.failed;
}

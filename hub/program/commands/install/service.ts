import { systemClock } from "#shared/kit/clock.ts";
import type { FlagValues } from "../../cli/args.ts";
import { UsageError } from "../../cli/exit.ts";
import { type Role, type Target, unitName } from "./roles.ts";
import type { System } from "./system.ts";

/** What `systemctl show` reports about a unit. */
interface UnitState {
  active: string;
  /** Automatic restarts since the last requested start. */
  restarts: number;
  pid: number;
  /** The status text that the service reports. */
  status: string;
  /** Why it ended, such as `exit-code` or `start-limit-hit`. */
  result: string;
  notifies: boolean;
}

export interface Expected {
  target: Target;
  /** The service's variables. */
  values: Record<string, string>;
  /** Version of the executable that was put into place. */
  version: string;
  timeout_ms: number;
}

const DEFAULT_TIMEOUT_S = 120;
const POLL_MS = 500;
/** This many automatic restarts mean that the service does not come up. */
const LOOP_RESTARTS = 2;
/** A service that does not report readiness must live this long. */
const SETTLED_MS = 5_000;
const LOG_LINES = 20;

/** --timeout in milliseconds. @throws UsageError */
export function timeoutOf(flags: FlagValues): number {
  const raw = flags.timeout?.at(-1);
  const seconds = raw === undefined ? DEFAULT_TIMEOUT_S : Number(raw);
  if (!Number.isFinite(seconds) || seconds <= 0 || seconds > 86_400)
    throw new UsageError(`--timeout: "${raw}" is not a number of seconds`);
  return seconds * 1_000;
}

export async function unitState(system: System, unit: string): Promise<UnitState> {
  const names = ["ActiveState", "NRestarts", "MainPID", "StatusText", "Result", "Type"];
  const said = await system.run(["systemctl", "show", "-p", names.join(","), unit]);
  const values = new Map(
    said.split("\n").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)] as const;
    }),
  );
  return {
    active: values.get("ActiveState") ?? "",
    restarts: Number(values.get("NRestarts") ?? 0),
    pid: Number(values.get("MainPID") ?? 0),
    status: values.get("StatusText") ?? "",
    result: values.get("Result") ?? "",
    notifies: values.get("Type") === "notify",
  };
}

/** What `program --version` prints after the name. */
export async function versionOf(system: System, program: string): Promise<string> {
  return (await system.run([program, "--version"])).trim().replace(/^flotilla\s+/, "");
}

/** Where this machine's service answers; null for one that does not listen. */
function healthUrl(role: Role, values: Record<string, string>): string | null {
  if (role === "worker") return null;
  const given = values.SVC_HOST?.trim() || "0.0.0.0";
  const host = given === "0.0.0.0" ? "127.0.0.1" : given === "::" ? "::1" : given;
  const name = host.includes(":") ? `[${host}]` : host;
  const path = role === "control" ? "/api/v1/health" : "/health";
  const scheme = values.SVC_TLS_CERT?.trim() ? "https" : "http";
  return `${scheme}://${name}:${values.SVC_PORT?.trim() || "8000"}${path}`;
}

/** Null when the service is healthy; otherwise what is wrong or what it waits for, in words. */
async function lookAt(
  system: System,
  expected: Expected,
  state: UnitState,
): Promise<string | null> {
  const { target, values, version } = expected;
  if (state.active !== "active")
    return `${unitName(target)} is ${state.active}${state.status ? `: ${state.status}` : ""}`;
  const url = healthUrl(target.role, values);
  if (url === null) return null;
  const answer = await system.health(url);
  if (answer === null) return `${url} does not answer`;
  if (answer.status !== 200) return `${url} answers ${answer.status}`;
  if (answer.version !== version)
    return `${url} runs version ${answer.version}, but ${version} was expected`;
  return null;
}

/**
 * Waits until the unit's service is healthy: systemd reports it active, it stays active, and `/health` of hub and
 * control plane answers with the expected version (a worker is active once its hub or control plane has answered).
 * @returns null, or why it gave up: the service failed, is restarted again and again, or the time is over.
 */
async function waitUntilWell(
  system: System,
  expected: Expected,
  restarts_before = 0,
): Promise<string | null> {
  const unit = unitName(expected.target);
  const until = systemClock.monotonic() + expected.timeout_ms;
  let lived = { pid: 0, since: 0 };
  for (;;) {
    const state = await unitState(system, unit);
    const now = systemClock.monotonic();
    if (state.active === "failed") return `${unit} failed (${state.result})`;
    // A requested start may reset the counter.
    const restarts = state.restarts - (state.restarts < restarts_before ? 0 : restarts_before);
    if (restarts >= LOOP_RESTARTS) return `${unit} ended and was restarted ${restarts} times`;
    const missing = await lookAt(system, expected, state);
    if (missing !== null) lived = { pid: 0, since: now };
    else if (lived.pid !== state.pid) lived = { pid: state.pid, since: now };
    const settled = state.notifies || now - lived.since >= SETTLED_MS;
    if (missing === null && settled) return null;
    if (now >= until) return missing ?? `${unit} did not stay up`;
    await systemClock.sleep(POLL_MS);
  }
}

/** The unit's newest lines in the journal since the epoch second `since`. */
async function lastLines(system: System, unit: string, since: number): Promise<string> {
  const argv = ["journalctl", "--no-pager", "-u", unit, "-o", "cat", "-n", String(LOG_LINES)];
  return system
    .run([...argv, `--since=@${since}`])
    .catch((err: unknown) => (err instanceof Error ? err.message : String(err)));
}

/**
 * Starts or restarts the unit, and waits until its service is healthy.
 * @returns null, or what went wrong, with the unit's last lines.
 */
export async function startAndWait(
  system: System,
  how: "start" | "restart",
  expected: Expected,
): Promise<string | null> {
  const unit = unitName(expected.target);
  const since = Math.floor(systemClock.now() / 1_000);
  // A unit that gave up needs its failed state reset first; for others this does nothing.
  await system.run(["systemctl", "reset-failed", unit]).catch(() => {});
  const { restarts } = await unitState(system, unit);
  await system.run(["systemctl", how, "--no-block", unit]);
  const wrong = await waitUntilWell(system, expected, restarts);
  if (wrong === null) return null;
  return `${wrong}; its last lines:\n${await lastLines(system, unit, since)}`;
}

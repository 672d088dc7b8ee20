import { FlotillaError } from "#shared/client/errors.ts";
import { windUpWithin } from "#shared/kit/call-within.ts";
import { DeadlineError } from "#shared/kit/clock.ts";
import { firstLanAddress } from "#shared/kit/lan-address.ts";
import { workerSecret } from "#shared/kit/secret.ts";
import { checkTarget } from "../check-target.ts";
import { type ClientCall, jsonText, lastOf, numberOf } from "../client-call.ts";
import { EXIT, UsageError } from "../exit.ts";
import { parseOption } from "../fetch.ts";
import { type Column, printable, type Terminal, tableFor } from "../print.ts";
import { startProgress } from "../progress.ts";
import { benchClaims } from "./claims.ts";
import { benchJobs } from "./jobs.ts";
import type { Part } from "./part.ts";
import { benchSessions } from "./sessions.ts";
import type { Measured } from "./stats.ts";

/** `flotilla bench` (rules/clients#bench): a user measures his own fleet, within bounds, and leaves nothing there. */

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

interface Target {
  url: string;
  stop(): Promise<void>;
}

/** The page that is opened: the given one, or the demo page, which this program serves where lanes can reach it. */
async function targetOf({ client, flags }: ClientCall): Promise<Target> {
  const given = lastOf(flags, "url");
  if (given !== undefined) return { url: checkTarget(given), stop: async () => {} };
  const is_here = LOOPBACK.test(new URL(client.base_url).hostname);
  const address = is_here ? "127.0.0.1" : firstLanAddress();
  const { listenDemo } = await import("../../demo/listen.ts");
  const demo = listenDemo(address, 0);
  return { url: `http://${address}:${demo.port}/demo/`, stop: demo.stop };
}

function askedOf({ flags }: ClientCall) {
  const upTo = (name: string, max: number, usual: number) =>
    numberOf(flags, name, { min: 0, max, usual });
  return {
    jobs: upTo("jobs", 1_000, 10),
    sessions: upTo("sessions", 200, 5),
    claims: upTo("claims", 100_000, 1_000),
    parallel: numberOf(flags, "parallel", { min: 1, max: 200, usual: 0 }),
    timeout_ms: numberOf(flags, "timeout", { min: 1, max: 86_400, usual: 300 }) * 1_000,
    options: Object.fromEntries((flags.option ?? []).map(parseOption)),
    headless: flags.headless !== undefined,
    keep: flags.keep !== undefined,
  };
}
type Asked = ReturnType<typeof askedOf>;

/** Lanes of the fleet; null at a control plane, which has none. */
const lanesOf = ({ client }: ClientCall): Promise<number | null> =>
  client.call("GET /health").then(
    ({ lanes }) => lanes.total,
    (err) => {
      if (err instanceof FlotillaError && err.status === 404) return null;
      throw err;
    },
  );

/** Jobs and sessions, where there is a lane for them. */
async function benchFleet(
  call: ClientCall,
  part: Part,
  { jobs, sessions, parallel, options, headless, keep }: Asked,
): Promise<Measured[]> {
  if (jobs + sessions === 0) return [];
  const lanes = await lanesOf(call);
  if (lanes === null) {
    part.progress.note("no browser fleet here: jobs and sessions are left out");
    return [];
  }
  if (lanes === 0) throw new UsageError("the fleet has no lane to measure", "flotilla workers");
  const target = await targetOf(call);
  const { url } = target;
  try {
    const at_once = parallel || lanes;
    const job_options = headless ? { ...options, headless } : options;
    const asked = { count: jobs, at_once, url, options: job_options, keep };
    return [
      ...(jobs > 0 ? await benchJobs(part, asked) : []),
      ...(sessions > 0 ? await benchSessions(part, { count: sessions, url, headless }) : []),
    ];
  } finally {
    await target.stop();
  }
}

/** Calls of a worker need its secret; without it the rest still is a measurement. */
async function benchPipeline({ env }: ClientCall, part: Part, count: number): Promise<Measured[]> {
  if (count === 0) return [];
  const text = (name: string) => env[name]?.trim() || undefined;
  const secret = workerSecret(text("WORKER_SECRET"), text("SVC_API_TOKEN"));
  try {
    return await benchClaims(part, { count, secret });
  } catch (err) {
    if (!(err instanceof FlotillaError) || err.status !== 401) throw err;
    part.progress.note("claims are left out: set WORKER_SECRET to the hub's, or --claims 0");
    return [];
  }
}

const COLUMNS: readonly Column[] = [
  { title: "what" },
  { title: "times", right: true },
  { title: "failed", right: true },
  { title: "median", right: true },
  { title: "p95", right: true },
  { title: "a second", right: true },
];

const ms = (value: number | null): string => (value === null ? "–" : `${value} ms`);
const cells = (row: Measured): string[] => [
  row.what,
  String(row.count),
  row.failed === 0 ? "" : String(row.failed),
  ms(row.median_ms),
  ms(row.p95_ms),
  row.per_s === null ? "" : String(row.per_s),
];

function tell({ terminal, json }: { terminal: Terminal; json: boolean }, rows: Measured[]): void {
  if (json) terminal.out(`${jsonText({ measured: rows })}\n`);
  else if (rows.length === 0) terminal.out("nothing was measured\n");
  else terminal.out(`${tableFor(terminal, COLUMNS, rows.map(cells))}\n`);
  for (const { what, error } of rows)
    if (error !== null) terminal.err(`flotilla: ${what}: ${printable(error)}\n`);
}

/** @returns the exit code: 1 when something failed or the time ran out, 130 after Ctrl-C */
export async function runBenchCommand(call: ClientCall): Promise<number> {
  const { client, terminal, clock } = call;
  const asked = askedOf(call);
  const progress = startProgress(terminal, clock);
  const rows: Measured[] = [];
  const limit = { what: "the benchmark", ms: asked.timeout_ms, signal: call.signal };
  const ended_for: unknown = await windUpWithin(clock, limit, async (signal) => {
    const part: Part = { client, clock, signal, progress };
    try {
      rows.push(...(await benchFleet(call, part, asked)));
      if (!signal.aborted) rows.push(...(await benchPipeline(call, part, asked.claims)));
    } catch (err) {
      if (!signal.aborted) throw err;
    }
    return signal.reason;
  }).finally(progress.end);
  tell(call, rows);
  if (call.signal.aborted) return EXIT.interrupted;
  const is_late = ended_for instanceof DeadlineError;
  if (is_late) {
    const s = asked.timeout_ms / 1_000;
    terminal.err(`flotilla: the time ran out after ${s} s; --timeout gives more\n`);
  }
  const failed = is_late || rows.some((row) => row.failed > 0);
  return failed ? EXIT.failed : EXIT.ok;
}

import { FlotillaError } from "#shared/client/errors.ts";
import type { LiveRuns } from "#shared/protocol/schema/pull-daemon.ts";
import type { TaskHistory } from "#shared/protocol/schema/queue.ts";
import { type ClientCall, jsonText } from "../client-call.ts";
import { EXIT } from "../exit.ts";
import { pollUntil } from "../poll.ts";
import { logLine } from "./log-line.ts";
import { harmless, printRun, tellEnd } from "./run.ts";

type LiveRun = LiveRuns["runs"][number];
type Stream = "stdout" | "stderr";

/** What `next`, the end of a stream, has beyond `before`, an earlier end of it. */
export function beyond(before: string, next: string): string {
  if (next.startsWith(before)) return next.slice(before.length);
  for (let shared = Math.min(before.length, next.length); shared > 0; shared -= 1)
    if (before.endsWith(next.slice(0, shared))) return next.slice(shared);
  return next;
}

/** What of the whole stream was not printed yet, when its end was `tail`; null where it cannot be told. */
export function remainder(whole: string, tail: string): string | null {
  const at = whole.lastIndexOf(tail);
  return at < 0 ? null : whole.slice(at + tail.length);
}

interface Shown {
  attempt: number;
  stdout: string;
  stderr: string;
  lines: number;
}

/** Prints what a running attempt has said since the last look. */
function showLive({ terminal, json }: ClientCall, shown: Shown, run: LiveRun): void {
  if (json) return;
  for (const name of ["stdout", "stderr"] as const satisfies Stream[]) {
    const text = harmless(beyond(shown[name], run[name]));
    if (text !== "") terminal[name === "stdout" ? "out" : "err"](text);
    shown[name] = run[name];
  }
  const first = run.log_dropped;
  for (const { ts, level, text } of run.log.slice(Math.max(0, shown.lines - first)))
    terminal.err(logLine(terminal, { ts, level, source: "", message: text }));
  shown.lines = first + run.log.length;
}

async function liveRunOf(
  { client }: ClientCall,
  { workload, pk, task }: TaskHistory,
): Promise<LiveRun | undefined> {
  if (task?.state !== "claimed" || task.worker_id === null) return undefined;
  const params = { id: task.worker_id };
  const { runs } = await client.call("GET /api/v1/workers/{id}/runs", { params }).catch((err) => {
    if (err instanceof FlotillaError && err.status === 404) return { runs: [] };
    throw err;
  });
  return runs.find((run) => run.workload === workload && run.pk === pk);
}

const nothing = (attempt: number): Shown => ({ attempt, stdout: "", stderr: "", lines: 0 });

/** The rest of an attempt that was watched, or all of one that was not. */
async function finish(call: ClientCall, run_id: number, shown: Shown): Promise<void> {
  const run = await call.client.call("GET /api/v1/runs/{run_id}", { params: { run_id } });
  const { terminal, json } = call;
  if (json) return terminal.out(`${JSON.stringify(run)}\n`);
  if (shown.attempt !== run.attempt) return printRun(terminal, run);
  const out = remainder(run.stdout, shown.stdout);
  const err = remainder(run.stderr, shown.stderr);
  if (out === null || err === null)
    terminal.err(`flotilla: some of its output was not shown\ntry: flotilla logs ${run_id}\n`);
  terminal.out(harmless(out ?? ""));
  terminal.err(harmless(err ?? ""));
  for (const { ts, level, text } of run.log.slice(Math.max(0, shown.lines - run.log_dropped)))
    terminal.err(logLine(terminal, { ts, level, source: "", message: text }));
  tellEnd(terminal, run);
}

/** Whether no attempt is to come any more. */
const isOver = ({ task }: TaskHistory): boolean => task === null || task.state === "failed";

/** How the last attempt that has ended went. */
const codeOf = ({ attempts }: TaskHistory): number =>
  attempts.at(-1)?.success === false ? EXIT.failed : EXIT.ok;

/** `flotilla logs SLUG KEY`: what a task's attempts printed; with `follow` while it runs, and those to come. */
export async function taskLogs(
  call: ClientCall,
  slug: string,
  pk: string,
  follow: boolean,
): Promise<number> {
  const { client, terminal, json } = call;
  const params = { slug, pk };
  const look = () => client.call("GET /api/v1/workloads/{slug}/tasks/{pk}", { params });
  let history = await look();
  if (json && !follow) {
    terminal.out(`${jsonText(history)}\n`);
    return codeOf(history);
  }
  // The last attempt that has ended is told; followed are those after it.
  const last = history.attempts.at(-1);
  let told = isOver(history) || !follow ? history.attempts.length - 1 : history.attempts.length;
  if (last === undefined && !follow) terminal.err("no attempt has ended: follow it with -f\n");
  let shown = nothing(0);
  const step = async (): Promise<boolean> => {
    const run = await liveRunOf(call, history);
    if (run && run.attempt !== shown.attempt) shown = nothing(run.attempt);
    if (run) showLive(call, shown, run);
    for (const { run_id } of history.attempts.slice(Math.max(0, told))) {
      await finish(call, run_id, shown);
      shown = nothing(0);
    }
    told = history.attempts.length;
    if (isOver(history) || !follow) return true;
    history = await look();
    return false;
  };
  if (!(await pollUntil(call, step))) return EXIT.interrupted;
  return codeOf(history);
}

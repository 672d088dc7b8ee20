import type { Run } from "#shared/client/client-types.ts";
import { type ClientCall, jsonText, moment } from "../client-call.ts";
import { EXIT } from "../exit.ts";
import { printable, type Terminal } from "../print.ts";
import { logLine } from "./log-line.ts";

/** What a program printed, which keeps its lines, however they end, and loses what would steer the terminal. */
export const harmless = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => line.split("\t").map(printable).join("\t"))
    .join("\n");

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** A run says what it printed on standard output there, and everything else beside it. */
export function printRun(terminal: Terminal, run: Run): void {
  terminal.out(ended(harmless(run.stdout)));
  if (run.stderr !== "") terminal.err(ended(harmless(run.stderr)));
  for (const { ts, level, text } of run.log)
    terminal.err(logLine(terminal, { ts, level, source: "", message: text }));
  tellEnd(terminal, run);
}

export function tellEnd(terminal: Terminal, run: Run): void {
  if (run.truncated) terminal.err("flotilla: the middle of what it printed was not kept\n");
  if (run.error !== null && !run.stderr.includes(run.error.trim()))
    terminal.err(ended(harmless(run.error)));
  terminal.err(
    `run ${run.run_id}: ${run.outcome} after ${run.duration_ms} ms, attempt ${run.attempt}, ${moment(run.finished_at)}\n`,
  );
}

/** `flotilla logs RUN`: a run is recorded when it has ended, so there is nothing to follow. */
export async function runLogs({ client, terminal, json }: ClientCall, id: string): Promise<number> {
  const run = await client.call("GET /api/v1/runs/{run_id}", { params: { run_id: Number(id) } });
  if (json) terminal.out(`${jsonText(run)}\n`);
  else printRun(terminal, run);
  return run.success ? EXIT.ok : EXIT.failed;
}

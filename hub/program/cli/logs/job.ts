import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import type { ClientCall } from "../client-call.ts";
import { EXIT } from "../exit.ts";
import { followJob } from "../follow-job.ts";
import { printable, type Terminal } from "../print.ts";
import { logLine } from "./log-line.ts";

const PAGE = 1_000;

function eventLine(terminal: Terminal, { ts, type, data }: JobEvent): string {
  const text = (name: string): string => (typeof data[name] === "string" ? data[name] : "");
  if (type !== "log") {
    const level = type === "error" ? "error" : "info";
    const message = type === "error" ? `failed: ${text("detail")}` : text("status");
    return logLine(terminal, { ts, level, source: "", message });
  }
  const fields = (data.fields ?? {}) as Record<string, unknown>;
  return logLine(terminal, {
    ts,
    level: text("level"),
    source: text("stage"),
    message: text("message"),
    fields,
  });
}

/** Events so far, page after page. */
async function printEvents(
  client: Http,
  id: string,
  print: (event: JobEvent) => void,
): Promise<void> {
  for (let since = 0, more = true; more; ) {
    const query = { since, limit: PAGE };
    const { events } = await client.call("GET /jobs/{id}/events.json", { params: { id }, query });
    for (const event of events) print(event);
    since = events.at(-1)?.seq ?? since;
    more = events.length === PAGE;
  }
}

/** `flotilla logs JOB`: its events; with `follow` to its end, and the exit code says whether it completed. */
export async function jobLogs(call: ClientCall, id: string, follow: boolean): Promise<number> {
  const { client, terminal, json, clock, signal } = call;
  const print = (event: JobEvent) =>
    terminal.out(json ? `${JSON.stringify(event)}\n` : eventLine(terminal, event));
  if (!follow) {
    await printEvents(client, id, print);
    return EXIT.ok;
  }
  const job = await followJob(client, id, print, clock, signal).catch((err) => {
    // An unknown job is said by the close of a socket, without the words of a call.
    if (err instanceof FlotillaError && err.status === 404)
      throw new FlotillaError(`job ${printable(id)} not found`, { status: 404 });
    throw err;
  });
  if (job === null) return EXIT.interrupted;
  return job.status === "completed" ? EXIT.ok : EXIT.failed;
}

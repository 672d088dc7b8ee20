import type { Watch } from "#shared/protocol/schema/watch.ts";
import { moment } from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { asTyped, tell } from "./hub-client.ts";
import type { ListDeps } from "./list-commands.ts";
import { printable, type Terminal, tableFor } from "./print.ts";

/** What was typed; without a URL the watches are listed. */
export interface WatchRequest {
  url: string | null;
  cron: string | undefined;
  cron_tz: string | undefined;
  every: string | undefined;
  name: string | undefined;
  options: Record<string, unknown>;
}

const timeText = (at: string | null | undefined): string => moment(at) || "–";

function resultText({ last, last_error, paused }: Watch): string {
  if (last === null) return last_error === null ? (paused ? "paused" : "–") : "failed";
  if (last.status !== "completed") return last.status;
  return last.changed === null ? "first" : last.changed ? "changed" : "unchanged";
}

const tableOf = (watches: Watch[], terminal: Terminal): string =>
  watches.length === 0
    ? "no watches"
    : tableFor(
        terminal,
        [
          { title: "watch" },
          { title: "last", state: true },
          { title: "captured" },
          { title: "next" },
          { title: "changes", right: true },
          { title: "what", shrink: 16 },
        ],
        watches.map((watch) => [
          watch.watch_id,
          resultText(watch),
          timeText(watch.last?.at),
          timeText(watch.next_at),
          String(watch.changes),
          watch.name || watch.url,
        ]),
      );

/** `flotilla watch [URL]` (rules/watches#calls). */
export async function runWatchCommand(
  { client, terminal }: ListDeps,
  { url, every, ...fields }: WatchRequest,
  json: boolean,
): Promise<number> {
  if (url === null)
    return tell(terminal, client.call("GET /watches"), (answer) =>
      json ? JSON.stringify(answer, null, 2) : tableOf(answer.watches, terminal),
    );
  if (fields.cron === undefined && every === undefined)
    throw new UsageError("watch URL needs --cron or --every");
  const every_s = every === undefined ? {} : { every_s: Number(every) };
  const asked = client.call("POST /watches", {
    json: asTyped({ url, ...fields, ...every_s } as never),
  });
  return tell(terminal, asked, (watch) =>
    json
      ? JSON.stringify(watch, null, 2)
      : `watch ${watch.watch_id} of ${printable(watch.url)}, next at ${timeText(watch.next_at)}`,
  );
}

import type { LogEntry } from "#shared/protocol/schema/operations.ts";
import { type ClientCall, lastOf, numberOf } from "../client-call.ts";
import { EXIT } from "../exit.ts";
import { asTyped } from "../hub-client.ts";
import { newEntries } from "../new-entries.ts";
import { pollUntil } from "../poll.ts";
import { logLine } from "./log-line.ts";

const PAGE = 1_000;
const MOST = 100_000;

const filterOf = ({ flags }: ClientCall) => ({
  host: lastOf(flags, "host"),
  service: lastOf(flags, "service"),
  min_level: lastOf(flags, "level"),
  q: lastOf(flags, "text"),
  since: lastOf(flags, "since"),
});

/** The newest, up to `most`, or all that came after the line `after`; the oldest first. */
async function linesOf(call: ClientCall, most: number, after?: number): Promise<LogEntry[]> {
  const found: LogEntry[] = [];
  for (let cursor: string | null | undefined; cursor !== null && found.length < most; ) {
    const limit = Math.min(PAGE, most - found.length);
    const query = asTyped({ ...filterOf(call), after, limit, cursor });
    const page = await call.client.call("GET /api/v1/service-logs", { query });
    found.push(...page.logs);
    cursor = page.next_cursor;
  }
  return found.reverse();
}

/** `flotilla logs`: what hubs, control planes and workers logged; with `follow` also what comes, until Ctrl-C. */
export async function serviceLogs(call: ClientCall, follow: boolean): Promise<number> {
  const { terminal, json, flags } = call;
  let last = 0;
  const print = (lines: readonly LogEntry[]) => {
    for (const line of lines) {
      last = Math.max(last, line.log_id);
      const { ts, level, host, service, message, fields } = line;
      const source = `${service}@${host}`;
      terminal.out(
        json
          ? `${JSON.stringify(line)}\n`
          : logLine(terminal, { ts, level, source, message, fields }),
      );
    }
  };
  const usual = follow ? 10 : 100;
  print(await linesOf(call, numberOf(flags, "limit", { min: 1, max: MOST, usual })));
  if (!follow) return EXIT.ok;
  const next = newEntries(
    (after) => linesOf(call, MOST, after),
    ({ log_id }) => log_id,
    last,
  );
  await pollUntil(call, async () => {
    print(await next());
    return false;
  });
  return EXIT.interrupted;
}

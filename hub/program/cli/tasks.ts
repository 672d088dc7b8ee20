import type { QueueRow } from "#shared/client/client-types.ts";
import type { TaskHistory } from "#shared/protocol/schema/queue.ts";
import {
  actionOf,
  type ClientCall,
  jsonText,
  lastOf,
  moment,
  needed,
  numberOf,
  refuseFlags,
} from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { fieldLines } from "./fields.ts";
import { asTyped, eachById, tell } from "./hub-client.ts";
import { type Column, type Terminal, tableFor } from "./print.ts";

/** `flotilla tasks` (rules/clients#workloads-and-tasks-by-command). */

const COLUMNS: readonly Column[] = [
  { title: "key", shrink: 12 },
  { title: "state", state: true },
  { title: "try", right: true },
  { title: "worker", shrink: 8 },
  { title: "since" },
  { title: "extra", shrink: 12 },
  { title: "error", shrink: 16 },
];

const triesOf = ({ attempt, max_attempts }: QueueRow): string => `${attempt}/${max_attempts}`;
const firstLine = (text: string | null): string => (text ?? "").split("\n", 1)[0] ?? "";

const cells = (row: QueueRow): string[] => [
  row.pk,
  row.state,
  triesOf(row),
  row.worker_id ?? "",
  moment(row.claimed_at ?? row.run_at),
  row.extra === null ? "" : JSON.stringify(row.extra),
  firstLine(row.last_error),
];

/** The most that one answer has. */
const PAGE = 200;
const MOST = 100_000;

/** Page after page, up to what was asked for. */
async function rowsOf({ client, flags }: ClientCall, slug: string): Promise<QueueRow[]> {
  const limit = numberOf(flags, "limit", { min: 1, max: MOST, usual: 50 });
  const rows: QueueRow[] = [];
  for (let cursor: string | undefined; rows.length < limit; ) {
    const query = {
      state: lastOf(flags, "state"),
      label: flags.label,
      limit: Math.min(PAGE, limit - rows.length),
      cursor,
    };
    const page = await client.call("GET /api/v1/workloads/{slug}/queue/peek", {
      params: { slug },
      query: asTyped(query),
    });
    rows.push(...page.rows);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  return rows;
}

const list = (call: ClientCall, slug: string): Promise<number> =>
  tell(call.terminal, rowsOf(call, slug), (rows) => {
    if (call.json) return jsonText({ rows });
    return rows.length === 0 ? "no tasks" : tableFor(call.terminal, COLUMNS, rows.map(cells));
  });

const ATTEMPTS: readonly Column[] = [
  { title: "run", right: true },
  { title: "try", right: true },
  { title: "outcome", state: true },
  { title: "worker", shrink: 8 },
  { title: "started" },
  { title: "took", right: true },
  { title: "error", shrink: 16 },
];

function describe({ workload, pk, task, attempts }: TaskHistory, terminal: Terminal): string {
  const fields = fieldLines([
    ["task", pk],
    ["workload", workload],
    ["state", task?.state ?? "not in the queue"],
    ["attempt", task && triesOf(task)],
    ["priority", task && String(task.priority)],
    ["runs at", task?.state === "pending" ? moment(task.run_at) : null],
    ["worker", task?.worker_id],
    ["lease until", moment(task?.lease_until)],
    [
      "labels",
      task &&
        Object.entries(task.labels)
          .map(([key, value]) => `${key}:${value}`)
          .join(" "),
    ],
    ["extra", task && task.extra !== null ? JSON.stringify(task.extra) : null],
    ["last error", task?.last_error],
  ]);
  if (attempts.length === 0) return `${fields}\n\nno attempt has ended`;
  const rows = attempts.map((run) => [
    String(run.run_id),
    String(run.attempt),
    run.outcome,
    run.worker_id ?? "",
    moment(run.started_at),
    `${run.duration_ms} ms`,
    firstLine(run.error),
  ]);
  return `${fields}\n\n${tableFor(terminal, ATTEMPTS, rows)}`;
}

async function cancel(call: ClientCall, slug: string, pks: readonly string[]): Promise<number> {
  const { done, code } = await eachById(
    call,
    pks,
    (pk) =>
      call.client.call("DELETE /api/v1/workloads/{slug}/queue/{pk}", { params: { slug, pk } }),
    (pk) => `task ${pk} cancelled`,
  );
  if (call.json) call.terminal.out(`${jsonText({ cancelled: done })}\n`);
  return code;
}

/** @throws UsageError for words and flags that do not go together */
export async function runTasksCommand(call: ClientCall): Promise<number> {
  const [word, slug = "", ...pks] = call.words;
  const action = actionOf("tasks", word, ["list", "show", "cancel"]);
  if (action !== "list") refuseFlags(call.flags, ["state", "label", "limit"], `tasks ${action}`);
  if (action === "list") {
    if (pks[0] !== undefined) throw new UsageError(`unexpected word "${pks[0]}" after tasks list`);
    return list(call, slug);
  }
  const pk = needed(pks[0], "SLUG and a key", `tasks ${action}`);
  if (action === "cancel") return cancel(call, slug, pks);
  if (pks.length > 1) throw new UsageError(`unexpected word "${pks[1]}" after tasks show`);
  const params = { slug, pk };
  const asked = call.client.call("GET /api/v1/workloads/{slug}/tasks/{pk}", { params });
  return tell(call.terminal, asked, (history) =>
    call.json ? jsonText(history) : describe(history, call.terminal),
  );
}

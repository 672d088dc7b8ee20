import { z } from "@hono/zod-openapi";
import { workloadCalls } from "#shared/client/workloads.ts";
import type { Run } from "#shared/protocol/schema/queue.ts";
import { TaskIn, TaskKey } from "#shared/protocol/schema/queue.ts";
import { lookUntil } from "./look-until.ts";
import { pageJson, pageText, said } from "./results.ts";
import { CALL_MS, cursor, slug, type Tool, type ToolCall, tool, wait_s } from "./tool.ts";

/** Workloads, their tasks and runs. */

const SUBMIT_MS = 60_000;
/** The longer it has waited the less often it asks, since each question is a line of the audit log. */
const POLL_MS = { first: 1_000, most: 10_000 };
const MOST_TASKS = 1_000;
const MAX_OUTPUT_CHARS = 20_000;

const list = tool({
  name: "workload_list",
  title: "List workloads",
  about: "The queues of tasks that there are: slug, executor, whether they are on.",
  part: "pipeline",
  args: z.strictObject({ cursor: z.string().max(200).optional() }),
  calls: ["GET /api/v1/workloads"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, query) => {
    const call = { query, timeout_ms: CALL_MS, signal };
    const { workloads, next_cursor } = await http.call("GET /api/v1/workloads", call);
    const rows = workloads.map(({ slug: of, name, description, executor_type, enabled }) => ({
      slug: of,
      name,
      description,
      executor_type,
      enabled,
    }));
    return pageJson({ workloads: rows, next_cursor });
  },
});

type Pks = { slug: string; pks: readonly string[] };

const statusOf = ({ http, signal }: Pick<ToolCall, "http" | "signal">, { slug: of, pks }: Pks) =>
  http.call("POST /api/v1/workloads/{slug}/tasks/status", {
    params: { slug: of },
    json: { pks: [...pks] },
    timeout_ms: CALL_MS,
    signal,
  });

/** The state of the tasks once none of them is pending or claimed, or as it is when the time is over. */
const waitForTasks = async (call: ToolCall, tasks: Pks, wait_ms: number) =>
  lookUntil(call, await statusOf(call, tasks), wait_ms, {
    isOver: ({ pending, claimed }) => pending + claimed === 0,
    wordsOf: ({ pending, claimed, failed }) =>
      `${pending} pending, ${claimed} claimed, ${failed} failed`,
    pauseOf: (waited_ms) => Math.min(POLL_MS.most, Math.max(POLL_MS.first, waited_ms / 5)),
    look: () => statusOf(call, tasks),
  });

const countsOf = ({ pending, claimed, failed, absent }: Awaited<ReturnType<typeof statusOf>>) =>
  said(
    `${pending} pending, ${claimed} claimed, ${failed} failed, ${absent} not in the queue (succeeded, cancelled or never submitted); run_list shows their runs`,
  );

const enqueue = tool({
  name: "task_enqueue",
  title: "Put tasks into a workload's queue",
  about:
    "Submits up to 1,000 tasks, all or none. A key that is in the queue already is a duplicate and is not changed. wait_s waits until they are done.",
  part: "pipeline",
  args: z.strictObject({ slug, items: z.array(TaskIn).min(1).max(MOST_TASKS), wait_s }),
  calls: [
    "POST /api/v1/workloads/{slug}/tasks/batch",
    "POST /api/v1/workloads/{slug}/tasks/status",
  ],
  access: "submit",
  effect: "changes",
  run: async (call, { slug: of, items, wait_s: wait }) => {
    const { http, signal } = call;
    const given = { patience_ms: 0, timeout_ms: SUBMIT_MS, signal };
    const { submitted, duplicates } = await workloadCalls(http).submit(of, items, given);
    const counted = said(`${submitted} submitted, ${duplicates} duplicates`);
    if (wait === 0) return [counted];
    const tasks = { slug: of, pks: items.map(({ pk }) => pk) };
    return [counted, countsOf(await waitForTasks(call, tasks, wait * 1_000))];
  },
});

const status = tool({
  name: "task_status",
  title: "Read the state of tasks",
  about: "Whether tasks are pending, claimed or failed. wait_s waits until they are done.",
  part: "pipeline",
  args: z.strictObject({ slug, pks: z.array(TaskKey).min(1).max(MOST_TASKS), wait_s }),
  calls: ["POST /api/v1/workloads/{slug}/tasks/status"],
  access: "view",
  effect: "reads",
  run: async (call, { slug: of, pks, wait_s: wait }) => {
    const now = await waitForTasks(call, { slug: of, pks }, wait * 1_000);
    return [countsOf(now), ...pageJson(now.items)];
  },
});

const shortRun = (run: Run) => {
  const { run_id, workload, pk, attempt, outcome, worker_id, started_at, duration_ms, error } = run;
  return {
    run_id,
    workload,
    pk,
    attempt,
    outcome,
    worker_id,
    started_at,
    duration_ms,
    error: error?.slice(0, 500) ?? null,
  };
};

const runs = tool({
  name: "run_list",
  title: "List runs",
  about: "Finished attempts of tasks, newest first, without their output; run_read has that.",
  part: "pipeline",
  args: z.strictObject({
    slug: slug.optional(),
    pk: TaskKey.optional(),
    success: z.boolean().optional(),
    limit: z.int().min(1).max(100).default(20),
    cursor,
  }),
  calls: ["GET /api/v1/runs", "GET /api/v1/workloads/{slug}/runs"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, { slug: of, pk, success, limit, cursor }) => {
    const query = { pk, success, limit, cursor };
    const call = { query, timeout_ms: CALL_MS, signal };
    const page =
      of === undefined
        ? await http.call("GET /api/v1/runs", call)
        : await http.call("GET /api/v1/workloads/{slug}/runs", { ...call, params: { slug: of } });
    const next_cursor = page.next_cursor ?? null;
    return pageJson({ runs: page.runs.map(shortRun), next_cursor });
  },
});

const run = tool({
  name: "run_read",
  title: "Read a run",
  about: "Output, error, stdout and stderr of one attempt of a task.",
  part: "pipeline",
  args: z.strictObject({
    run_id: z.int().min(1),
    stream: z.enum(["all", "output", "stdout", "stderr"]).default("all"),
    offset: z.int().min(0).default(0).describe("First character of the stream"),
  }),
  calls: ["GET /api/v1/runs/{run_id}"],
  access: "view",
  effect: "reads",
  run: async ({ http, signal }, { run_id, stream, offset }) => {
    const call = { params: { run_id }, timeout_ms: CALL_MS, signal };
    const found = await http.call("GET /api/v1/runs/{run_id}", call);
    const output = JSON.stringify(found.output_json, null, 1) ?? "null";
    const { stdout, stderr } = found;
    const of = { output, stdout, stderr };
    if (stream !== "all")
      return pageText(of[stream], { offset, max_chars: MAX_OUTPUT_CHARS }, `stream ${stream} and`);
    return [
      ...pageJson({ ...shortRun(found), error: found.error }),
      ...Object.entries(of).flatMap(([name, text]) =>
        text === ""
          ? []
          : [
              said(`${name}:`),
              ...pageText(
                text,
                { offset: 0, max_chars: 8_000 },
                `call again with stream ${name} and`,
              ),
            ],
      ),
    ];
  },
});

export const PIPELINE_TOOLS: readonly Tool[] = [list, enqueue, status, runs, run];

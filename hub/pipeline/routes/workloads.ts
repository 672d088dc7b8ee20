import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { nameOf } from "#hub/platform/http/caller.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { quickly } from "#hub/platform/http/quickly.ts";
import { CheckExecutor } from "#shared/protocol/schema/executor.ts";
import { pageOf } from "#shared/protocol/schema/page.ts";
import type { TaskIn } from "#shared/protocol/schema/queue.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { tryCode } from "../code/after-save.ts";
import type { PipelineContext } from "../context.ts";
import { checkExecutor, tryExecutor } from "../pull/checks.ts";
import { plainBatch } from "../pull/plain.ts";
import { getCounts, peekQueue, removeTask, resetFailed, resetTask } from "../tasks/queue.ts";
import { getRun, listRuns } from "../tasks/runs.ts";
import { getTask, getTaskOfRun } from "../tasks/task-history.ts";
import { submitTasks } from "../tasks/tasks.ts";
import {
  changeWorkload,
  createWorkload,
  deleteWorkload,
  getWorkload,
  listWorkloads,
  replaceWorkload,
} from "../workloads/workloads.ts";
import { codeIsTrusted } from "./code-is-trusted.ts";
import { MAX_BATCH_BYTES, routes } from "./workload-routes.ts";

/** How long to wait until a worker has loaded a new workload. */
const CHECK_S = 60;

const submitBatch = (
  ctx: Parameters<typeof submitTasks>[0],
  of: string,
  items: readonly TaskIn[],
) => submitTasks(ctx, of, items, (i) => ["body", "items", i]);

const ifMatch = (c: Context) => c.req.header("if-match");
/** A workload, with the ETag of its settings. */
const answered = (c: Context, workload: Workload) =>
  c.json(workload, 200, { ETag: workloadTag(workload) });

/** Workloads themselves (rules/pipeline-workloads#fields-of-a-workload). */
export function workloadRoutes(ctx: PipelineContext) {
  return newApp()
    .openapi(routes.list, async (c) => {
      const all = await listWorkloads(ctx);
      const { page, next_cursor } = pageOf(all, ({ slug }) => slug, c.req.valid("query"));
      return c.json({ workloads: page, next_cursor }, 200);
    })
    .openapi(routes.create, async (c) => {
      const wanted = c.req.valid("json");
      await codeIsTrusted(c, ctx, wanted);
      const made = await createWorkload(ctx, wanted, nameOf(c.var.caller));
      const { check: checked } = c.req.valid("query");
      if (!checked && wanted.executor_config.code !== undefined) tryCode(ctx, made.slug);
      if (!checked) return c.json(made, 201, { ETag: workloadTag(made) });
      const check = await tryExecutor(ctx, made.slug, CHECK_S, c.req.raw.signal);
      const now = await getWorkload(ctx, made.slug);
      return c.json({ ...now, check }, 201, { ETag: workloadTag(now) });
    })
    .openapi(routes.check, async (c) => {
      // A call without a body means the defaults.
      const asked = CheckExecutor.parse(c.req.valid("json") ?? {});
      const { slug: of } = c.req.valid("param");
      return c.json(await checkExecutor(ctx, of, asked, c.req.raw.signal), 200);
    })
    .openapi(routes.read, async (c) =>
      answered(c, await getWorkload(ctx, c.req.valid("param").slug)),
    )
    .openapi(routes.replace, async (c) => {
      const { slug: of } = c.req.valid("param");
      const wanted = c.req.valid("json");
      await codeIsTrusted(c, ctx, wanted);
      const workload = await replaceWorkload(ctx, of, wanted, {
        by: nameOf(c.var.caller),
        if_match: ifMatch(c),
      });
      return answered(c, workload);
    })
    .openapi(routes.enabled, async (c) => {
      const { slug: of } = c.req.valid("param");
      return answered(c, await changeWorkload(ctx, of, c.req.valid("json"), ifMatch(c)));
    })
    .openapi(routes.supervised, async (c) => {
      const { slug: of } = c.req.valid("param");
      return answered(c, await changeWorkload(ctx, of, c.req.valid("json"), ifMatch(c)));
    })
    .openapi(routes.remove, async (c) => {
      await deleteWorkload(ctx, c.req.valid("param").slug, c.req.valid("query").force);
      return c.body(null, 204);
    });
}

/** The tasks of a workload, and its queue (rules/pipeline-queue#queue-counts). */
export function taskRoutes(
  ctx: Pick<PipelineContext, "pipeline" | "db" | "log" | "clock" | "tracer">,
) {
  const app = newApp();
  app.post(
    "/api/v1/workloads/:slug/tasks/batch",
    access(routes.batch.rules),
    quickly(MAX_BATCH_BYTES, plainBatch, async (c, { items }) =>
      c.json(await submitBatch(ctx, c.req.param("slug") ?? "", items), 201),
    ),
  );
  return app
    .openapi(routes.submit, async (c) => {
      const task = c.req.valid("json");
      const { slug: of } = c.req.valid("param");
      return c.json(await submitTasks(ctx, of, [task], () => ["body"]), 201);
    })
    .openapi(routes.batch, async (c) => {
      const { items } = c.req.valid("json");
      const { slug: of } = c.req.valid("param");
      return c.json(await submitBatch(ctx, of, items), 201);
    })
    .openapi(routes.counts, async (c) =>
      c.json(await getCounts(ctx, c.req.valid("param").slug), 200),
    )
    .openapi(routes.peek, async (c) =>
      c.json(await peekQueue(ctx, c.req.valid("param").slug, c.req.valid("query")), 200),
    )
    .openapi(routes.reset, async (c) =>
      c.json({ reset: await resetFailed(ctx, c.req.valid("param").slug) }, 200),
    )
    .openapi(routes.drop, async (c) => {
      const { slug: of, pk } = c.req.valid("param");
      await removeTask(ctx, of, pk);
      return c.body(null, 204);
    })
    .openapi(routes.task, async (c) => {
      const { slug: of, pk } = c.req.valid("param");
      return c.json(await getTask(ctx, of, pk), 200);
    })
    .openapi(routes.resetOne, async (c) => {
      const { slug: of, pk } = c.req.valid("param");
      await resetTask(ctx, of, pk);
      return c.body(null, 204);
    });
}

/** Runs of all workloads, and of one (rules/pipeline-runs#list-runs). */
export function runRoutes(ctx: Pick<PipelineContext, "pipeline" | "db" | "clock">) {
  return newApp()
    .openapi(routes.runs, async (c) => {
      const { slug: of } = c.req.valid("param");
      return c.json(await listRuns(ctx, c.req.valid("query"), of), 200);
    })
    .openapi(routes.allRuns, async (c) => c.json(await listRuns(ctx, c.req.valid("query")), 200))
    .openapi(routes.history, async (c) =>
      c.json(await getTaskOfRun(ctx, c.req.valid("param").run_id), 200),
    )
    .openapi(routes.run, async (c) => c.json(await getRun(ctx, c.req.valid("param").run_id), 200));
}

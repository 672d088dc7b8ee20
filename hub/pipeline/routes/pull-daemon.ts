import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { WorkerCommand } from "#shared/protocol/schema/pull.ts";
import {
  AdminCommand,
  AnswerCheck,
  ConfigPoll,
  Leases,
  LiveLogs,
  LiveRuns,
  WorkerConfig,
} from "#shared/protocol/schema/pull-daemon.ts";
import type { PipelineContext } from "../context.ts";
import { commandPuller } from "../pull/commands.ts";
import { pollConfig } from "../pull/config.ts";
import { getLeases } from "../pull/leases.ts";
import { liveRuns, tellLiveRuns } from "../pull/live-runs.ts";
import { answerCheck } from "../pull/waiting-checks.ts";
import { requirePuller } from "../pull/workers.ts";
import { callerOf, reportLimit } from "./pull.ts";

const tags = ["pull workers"];
const path = (name: string) => `/api/v1/workers/{id}/${name}`;
const params = z.object({
  id: z.string().openapi({ param: { name: "id", in: "path" }, example: "w123" }),
});

const routes = {
  command: createRoute({
    method: "post",
    path: path("admin-command"),
    access: "operate",
    changes: ["v1/workers"],
    tags,
    operationId: "commandPullWorker",
    summary: "Tell a worker to drain, resume, recycle its processes, or stop",
    description:
      "It obeys at its next heartbeat, or immediately if it is waiting for its configuration.",
    middleware: [jsonBodyLimit],
    request: { params, ...json(AdminCommand) },
    responses: { 202: ok(WorkerCommand)[200], ...fails(400, 404, 409, 413, 415, 422) },
  }),
  config: createRoute({
    method: "post",
    path: path("config"),
    access: "worker",
    changes: [],
    tags,
    operationId: "getPullWorkerConfig",
    summary: "Read what a worker should do; waits for a change",
    description:
      "For the worker's daemon. Answers when the revision differs from the one sent, or after wait_ms.",
    middleware: [jsonBodyLimit],
    request: { params, ...json(ConfigPoll) },
    responses: { ...ok(WorkerConfig), ...fails(400, 401, 404, 409, 413, 415, 422) },
  }),
  logs: createRoute({
    method: "post",
    path: path("runs/logs"),
    access: "worker",
    changes: ["v1/tasks"],
    tags,
    operationId: "reportRunLogs",
    summary: "Report what running tasks printed last",
    description: "For the worker's daemon. Replaces the previous report.",
    middleware: [reportLimit],
    request: { params, ...json(LiveLogs) },
    responses: {
      ...ok(z.object({ ok: z.literal(true) })),
      ...fails(400, 401, 404, 409, 413, 415, 422),
    },
  }),
  checks: createRoute({
    method: "post",
    path: path("checks"),
    access: "worker",
    changes: ["v1/workers"],
    tags,
    operationId: "reportCheck",
    summary: "Report the result of loading a workload's code",
    description: "For the worker's daemon, which the answer to its heartbeat asked for it.",
    middleware: [jsonBodyLimit],
    request: { params, ...json(AnswerCheck) },
    responses: {
      ...ok(z.object({ ok: z.literal(true) })),
      ...fails(400, 401, 404, 409, 413, 415, 422),
    },
  }),
  runs: createRoute({
    method: "get",
    path: path("runs"),
    access: "view",
    tags,
    operationId: "listPullWorkerRuns",
    summary: "Read what a worker runs now, with the end of its output",
    description: "As its daemon last reported it; null if that is too long ago.",
    request: { params },
    responses: { ...ok(LiveRuns), ...fails(404) },
  }),
  leases: createRoute({
    method: "get",
    path: path("leases"),
    access: "view",
    tags,
    operationId: "listPullWorkerLeases",
    summary: "List the tasks that a worker holds, with the end of each lease",
    description: "According to the queue, at most 500; `at` is the queue's time.",
    request: { params },
    responses: { ...ok(Leases), ...fails(404) },
  }),
};

/**
 * The smaller calls of a worker's daemon and of the people who operate it (rules/pipeline-pull#commands-to-a-worker).
 */
export function pullDaemonRoutes(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "kv" | "log" | "clock">,
) {
  return newApp()
    .openapi(routes.command, async (c) => {
      const { command } = c.req.valid("json");
      return c.json(await commandPuller(ctx, c.req.valid("param").id, command), 202);
    })
    .openapi(routes.config, async (c) => {
      const { incarnation, ...known } = c.req.valid("json");
      const worker = await requirePuller(ctx, callerOf(c), incarnation);
      return c.json(await pollConfig(ctx, worker, known, c.req.raw.signal), 200);
    })
    .openapi(routes.logs, async (c) => {
      const { incarnation, items } = c.req.valid("json");
      const { worker_id } = await requirePuller(ctx, callerOf(c), incarnation);
      await tellLiveRuns(ctx, worker_id, items);
      return c.json({ ok: true as const }, 200);
    })
    .openapi(routes.checks, async (c) => {
      const { incarnation, ...answer } = c.req.valid("json");
      const { worker_id } = await requirePuller(ctx, callerOf(c), incarnation);
      await answerCheck(ctx, worker_id, answer);
      return c.json({ ok: true as const }, 200);
    })
    .openapi(routes.runs, async (c) => c.json(await liveRuns(ctx, c.req.valid("param").id), 200))
    .openapi(routes.leases, async (c) =>
      c.json(await getLeases(ctx, c.req.valid("param").id), 200),
    );
}

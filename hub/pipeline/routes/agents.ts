import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  AgentList,
  AgentSynced,
  HOST_NAME,
  type Instance,
  InstanceInventory,
  InstanceList,
  InstancesStopped,
  RestartAsked,
  SpawnInstances,
  StopInstances,
  SyncAgent,
} from "#shared/protocol/schema/agent.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import { listAgents, syncAgent } from "../agents/agents.ts";
import { listInstances, spawnInstances, stopInstances } from "../agents/elastic.ts";
import type { PipelineContext } from "../context.ts";

const tags = ["agents"];
const HostParams = z.object({
  host: z
    .string()
    .regex(HOST_NAME)
    .openapi({ param: { name: "host", in: "path" }, example: "gpu-1" }),
});
const WorkerParams = z.object({
  id: z.string().openapi({ param: { name: "id", in: "path" }, example: "gpu-1-k3v9x2ab" }),
});
const accepted = (description: string) => ({ 202: ok(InstanceList, description)[200] });

const SYNC = {
  agent_id: "V1StGXR8_Z5jdHi6B-myT",
  version: "0.1.0",
  gpus: [{ index: 0, name: "NVIDIA L4", mem_used_mb: 512, mem_total_mb: 23034, util_percent: 3 }],
  children: [
    {
      instance_id: "gpu-1-k3v9x2ab",
      pid: 4711,
      state: "running" as const,
      started_at: "2026-01-01T00:00:00.000Z",
    },
  ],
};

const routes = {
  list: createRoute({
    method: "get",
    path: "/api/v1/agents",
    access: "view",
    tags,
    operationId: "listAgents",
    summary: "List hosts with an agent",
    description: "For each host: what should run there, and what its agent last reported and when.",
    request: { query: PageQuery },
    responses: { ...ok(AgentList), ...fails(422) },
  }),
  sync: createRoute({
    method: "post",
    path: "/api/v1/agents/{host}/sync",
    access: "worker",
    changes: ["v1/agents"],
    tags,
    operationId: "syncAgent",
    summary: "Report as an agent and learn what should run",
    description: "An unknown host becomes known.",
    middleware: [jsonBodyLimit],
    request: { params: HostParams, ...json(SyncAgent, SYNC) },
    responses: { ...ok(AgentSynced), ...fails(400, 401, 409, 413, 415, 422) },
  }),
  inventory: createRoute({
    method: "get",
    path: "/api/v1/workers/elastic/inventory",
    access: "view",
    tags,
    operationId: "listInstances",
    summary: "List worker instances: what should run and what does",
    description:
      "One row for each instance of every host: what is wanted, and what its agent last reported.",
    request: { query: PageQuery },
    responses: { ...ok(InstanceInventory), ...fails(422) },
  }),
  spawn: createRoute({
    method: "post",
    path: "/api/v1/workers/elastic/spawn",
    access: "admin",
    changes: ["v1/workers"],
    tags,
    operationId: "spawnInstances",
    summary: "Start worker instances on a host with an agent (administrator)",
    description:
      "Changes what should run; the agent starts them at its next sync. Without `host` the least loaded one is chosen.",
    middleware: [jsonBodyLimit],
    request: json(SpawnInstances, { host: "gpu-1", count: 2, slots: 4 }),
    responses: {
      ...accepted("Its agent starts them"),
      ...fails(400, 401, 403, 409, 413, 415, 422, 429, 503),
    },
  }),
  restart: createRoute({
    method: "post",
    path: "/api/v1/workers/{id}/restart",
    access: "admin",
    changes: ["v1/workers"],
    tags,
    operationId: "restartPullWorker",
    summary: "Restart a worker on its host over SSH (administrator)",
    description:
      "Runs the configured command; its result is in the service logs. 404 for a host that is not in " +
      "SVC_SSH_HOSTS, 409 when no command is configured or a restart of this worker is under way.",
    request: { params: WorkerParams },
    responses: {
      202: ok(RestartAsked, "Begun")[200],
      ...fails(401, 403, 404, 409, 429),
    },
  }),
  stop: createRoute({
    method: "post",
    path: "/api/v1/workers/elastic/stop",
    access: "admin",
    changes: ["v1/workers"],
    tags,
    operationId: "stopInstances",
    summary: "Stop worker instances after what they run (administrator)",
    description:
      "Changes what should run; the agent drains and ends them after its next sync. `stopped` is smaller than `asked` if there were fewer.",
    middleware: [jsonBodyLimit],
    request: json(StopInstances, { host: "gpu-1", count: 1 }),
    responses: {
      202: ok(InstancesStopped, "Its agent stops them")[200],
      ...fails(400, 401, 403, 404, 409, 413, 415, 422, 429, 503),
    },
  }),
};

/** Agents and the instances they run (rules/pipeline-agents#host-agents). */
export function agentRoutes(
  ctx: Pick<PipelineContext, "operations" | "db" | "clock" | "wall_jumps" | "log" | "pipeline">,
) {
  return newApp()
    .openapi(routes.list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listAgents(ctx),
        ({ host }) => host,
        c.req.valid("query"),
      );
      return c.json({ agents: page, next_cursor }, 200);
    })
    .openapi(routes.sync, async (c) =>
      c.json(await syncAgent(ctx, c.req.valid("param").host, c.req.valid("json")), 200),
    )
    .openapi(routes.inventory, async (c) => {
      const all = await listInstances(ctx);
      const keyOf = ({ host, instance_id }: Instance) => `${host}/${instance_id}`;
      const { page, next_cursor } = pageOf(all, keyOf, c.req.valid("query"));
      return c.json({ instances: page, next_cursor }, 200);
    })
    .openapi(routes.spawn, async (c) =>
      c.json({ instances: await spawnInstances(ctx, c.req.valid("json")) }, 202),
    )
    .openapi(routes.restart, async (c) =>
      c.json(await ctx.operations.restarts.ask(c.req.valid("param").id), 202),
    )
    .openapi(routes.stop, async (c) => c.json(await stopInstances(ctx, c.req.valid("json")), 202));
}

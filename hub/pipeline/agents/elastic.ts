import type { z } from "zod";
import type { AgentRow } from "#hub/platform/db/rows.ts";
import { AppError, conflict, invalid, notFound } from "#shared/kit/errors.ts";
import { newInstanceId } from "#shared/protocol/ids.ts";
import {
  type DesiredInstance,
  type Instance,
  type InstancesStopped,
  MAX_INSTANCES,
  type SpawnInstances,
  type StopInstances,
} from "#shared/protocol/schema/agent.ts";
import type { PipelineContext } from "../context.ts";
import { isAlive } from "./agents.ts";

/**
 * How often another change of the same host may get in between. Each of those succeeded, so only heavy contention
 * reaches this.
 */
const MAX_TRIES = 50;

/** An instance as the wire shows it. `workers`: ids of the pull workers that registered. */
function instanceRecord(agent: AgentRow, id: string, workers: ReadonlySet<string>): Instance {
  const told = agent.report?.children.find((child) => child.instance_id === id);
  return {
    instance_id: id,
    host: agent.host,
    desired: agent.desired.some((d) => d.instance_id === id) ? "running" : "stopped",
    actual: told?.state ?? "unknown",
    pid: told?.pid ?? null,
    worker_id: workers.has(id) ? id : null,
    started_at: told?.started_at ?? null,
    exit_code: told?.exit_code ?? null,
  };
}

const workerIds = async (ctx: Pick<PipelineContext, "db">): Promise<ReadonlySet<string>> =>
  new Set((await ctx.db.pull_workers.list()).map((row) => row.worker_id));

/** What should run on a host, and what its agent says runs there regardless. */
const idsOf = ({ desired, report }: AgentRow): string[] => [
  ...new Set([...desired, ...(report?.children ?? [])].map((i) => i.instance_id)),
];

/**
 * GET /workers/elastic/inventory (rules/pipeline-agents#inventory): by host, in the order in which they were requested.
 */
export async function listInstances(ctx: Pick<PipelineContext, "db">): Promise<Instance[]> {
  const [agents, workers] = await Promise.all([ctx.db.agents.list(), workerIds(ctx)]);
  return agents.flatMap((agent) => idsOf(agent).map((id) => instanceRecord(agent, id, workers)));
}

const recordsOf = async (
  ctx: Pick<PipelineContext, "db">,
  agent: AgentRow,
  ids: readonly string[],
) => {
  const workers = await workerIds(ctx);
  return ids.map((id) => instanceRecord(agent, id, workers));
};

/**
 * Reads the agents and makes one conditional change; repeats both when somebody else changed that host in between.
 * `choose` gives what the host should run afterwards; null: nothing needs to change.
 */
async function changeDesired(
  ctx: Pick<PipelineContext, "db">,
  choose: (agents: AgentRow[]) => {
    agent: AgentRow;
    ids: string[];
    desired: DesiredInstance[] | null;
  },
): Promise<{ instances: Instance[]; changed: boolean }> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const { agent, ids, desired } = choose(await ctx.db.agents.list());
    if (desired === null) return { instances: await recordsOf(ctx, agent, ids), changed: false };
    const changed = await ctx.db.agents.setDesired(agent.host, desired, agent.revision);
    if (changed) return { instances: await recordsOf(ctx, changed, ids), changed: true };
  }
  throw new AppError("unavailable", "too many changes at the same time; try again");
}

function hostFor(
  ctx: Pick<PipelineContext, "wall_jumps">,
  agents: AgentRow[],
  host: string | undefined,
): AgentRow {
  if (host !== undefined) {
    const named = agents.find((agent) => agent.host === host);
    if (!named) throw conflict(`no agent runs on ${host}: start one there with --agent`);
    return named;
  }
  const live = agents.filter((agent) => isAlive(ctx, agent));
  const [least] = live.sort((a, b) => a.desired.length - b.desired.length);
  if (!least) throw conflict("no host has an agent: start one with --agent");
  return least;
}

/**
 * POST /workers/elastic/spawn (rules/pipeline-agents#spawn-instances): the agent of the host starts the instances at
 * its next sync.
 * @throws AppError conflict without an agent, when the host is full, or the name is another host's; invalid naming a
 * workload that does not exist.
 */
export async function spawnInstances(
  ctx: Pick<PipelineContext, "pipeline" | "db" | "log" | "wall_jumps">,
  input: SpawnInstances,
): Promise<Instance[]> {
  const { count, slots, workloads = [] } = input;
  for (const [i, slug] of workloads.entries())
    if (!(await ctx.pipeline.workloads.find(slug)))
      throw invalid(["body", "workloads", i], "there is no such workload");
  const args = [
    ...(slots === undefined ? [] : [`--slots=${slots}`]),
    ...(workloads.length === 0 ? [] : [`--workloads=${workloads.join(",")}`]),
  ];
  const named = input.instance_id;
  const { instances, changed } = await changeDesired(ctx, (agents) => {
    const holder = agents.find((a) => a.desired.some((d) => d.instance_id === named));
    if (named !== undefined && holder) {
      if (input.host !== undefined && input.host !== holder.host)
        throw conflict(`${named} runs on ${holder.host}`);
      return { agent: holder, ids: [named], desired: null };
    }
    const agent = hostFor(ctx, agents, input.host);
    const room = MAX_INSTANCES - agent.desired.length;
    if (count > room)
      throw conflict(`${agent.host} has room for ${room} more of ${MAX_INSTANCES} instances`);
    const ids = Array.from({ length: count }, () => named ?? newInstanceId(agent.host));
    const added = ids.map((instance_id) => ({ instance_id, args, env: {}, generation: 0 }));
    return { agent, ids, desired: [...agent.desired, ...added] };
  });
  // A worker of that name may have been here before, with another filter.
  if (named !== undefined && changed)
    await ctx.db.pull_workers.setFilter(named, workloads.length > 0 ? workloads : null);
  ctx.log.info({ instances: instances.map((i) => i.instance_id) }, "instances requested");
  return instances;
}

/**
 * POST /workers/elastic/stop (rules/pipeline-agents#stop-instances): one by its id, or the `count` newest of a host.
 * An instance that is already being stopped is returned unchanged.
 * @throws AppError not_found for an unknown instance, conflict for a host without an agent.
 */
export async function stopInstances(
  ctx: Pick<PipelineContext, "log" | "db" | "wall_jumps">,
  input: StopInstances,
): Promise<z.infer<typeof InstancesStopped>> {
  const { instance_id, host, count } = input;
  const { instances } = await changeDesired(ctx, (agents) => {
    const without = (agent: AgentRow, ids: string[]) => ({
      agent,
      ids,
      desired: agent.desired.filter((d) => !ids.includes(d.instance_id)),
    });
    if (instance_id === undefined) {
      const agent = hostFor(ctx, agents, host);
      return without(
        agent,
        agent.desired.slice(-count).map((d) => d.instance_id),
      );
    }
    const holder = agents.find((a) => a.desired.some((d) => d.instance_id === instance_id));
    if (holder) return without(holder, [instance_id]);
    const stopping = agents.find((a) => idsOf(a).includes(instance_id));
    if (!stopping) throw notFound("instance");
    return { agent: stopping, ids: [instance_id], desired: null };
  });
  ctx.log.info({ instances: instances.map((i) => i.instance_id) }, "stop of instances requested");
  const asked = instance_id === undefined ? count : 1;
  return { instances, asked, stopped: instances.length };
}

import type { AgentRow, PullWorkerRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import type { PipelineContext } from "../context.ts";
import { mayRun } from "../pull/may-run.ts";

/** Ids of the host's instances that should run and may run the workload, but that their agent has given up on. */
export function deadInstances(
  { host, desired, report }: AgentRow,
  workload: Pick<WorkloadRow, "slug" | "host_affinity">,
  known: ReadonlyMap<string, PullWorkerRow>,
): string[] {
  const exited = new Set(
    report?.children.filter((c) => c.state === "exited").map((c) => c.instance_id),
  );
  return desired
    .map((d) => d.instance_id)
    .filter((id) => exited.has(id))
    .filter((id) => mayRun({ host, filter: known.get(id)?.filter ?? null }, workload));
}

/** Restarts them as their next generation. An agent whose desired state changed meanwhile is left for the next pass. */
export async function restartDead(
  ctx: Pick<PipelineContext, "db" | "log">,
  agents: readonly AgentRow[],
  workload: Pick<WorkloadRow, "slug" | "host_affinity">,
  known: ReadonlyMap<string, PullWorkerRow>,
): Promise<void> {
  for (const agent of agents) {
    const dead = deadInstances(agent, workload, known);
    if (dead.length === 0) continue;
    const desired = agent.desired.map((d) =>
      dead.includes(d.instance_id) ? { ...d, generation: d.generation + 1 } : d,
    );
    const changed = await ctx.db.agents.setDesired(agent.host, desired, agent.revision);
    if (changed) ctx.log.warn({ host: agent.host, instances: dead }, "dead instances restarted");
  }
}

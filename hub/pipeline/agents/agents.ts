import type { AgentRow } from "#hub/platform/db/rows.ts";
import { isoTimeOrNull } from "#shared/kit/clock.ts";
import { conflict } from "#shared/kit/errors.ts";
import {
  AGENT_OFFLINE_MS,
  type Agent,
  type AgentSynced,
  type SyncAgent,
} from "#shared/protocol/schema/agent.ts";
import type { PipelineContext } from "../context.ts";
import { recordGpus } from "../flow/load.ts";

export const isAlive = (ctx: Pick<PipelineContext, "clock">, { last_seen_at }: AgentRow): boolean =>
  last_seen_at !== null && ctx.clock.now() - last_seen_at <= AGENT_OFFLINE_MS;

/** GET /agents (rules/pipeline-agents#host-agents): every host that ever had an agent, by name. */
export const listAgents = async (ctx: Pick<PipelineContext, "db" | "clock">): Promise<Agent[]> =>
  (await ctx.db.agents.list()).map((row) => ({
    host: row.host,
    state: isAlive(ctx, row) ? "active" : "offline",
    desired: { instances: row.desired },
    revision: row.revision,
    report: row.report,
    last_seen_at: isoTimeOrNull(row.last_seen_at),
  }));

/**
 * POST /agents/{host}/sync (rules/pipeline-agents#sync): stores what the agent reports and answers what should run
 * there.
 * @throws AppError conflict while another agent speaks for the host.
 */
export async function syncAgent(
  ctx: Pick<PipelineContext, "clock" | "db" | "log">,
  host: string,
  { agent_id, ...report }: SyncAgent,
): Promise<AgentSynced> {
  const now = ctx.clock.now();
  const row = await ctx.db.agents.sync(host, { agent_id, report, now }, now - AGENT_OFFLINE_MS);
  if (!row) throw conflict(`another agent runs on ${host}`);
  await recordGpus(ctx, host, report.gpus);
  ctx.log.debug({ host, children: report.children.length }, "agent synced");
  return { desired: { instances: row.desired }, revision: row.revision };
}

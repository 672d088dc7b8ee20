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

export const isAlive = (
  { wall_jumps }: Pick<PipelineContext, "wall_jumps">,
  { last_seen_at }: AgentRow,
): boolean => last_seen_at !== null && wall_jumps.ageOf(last_seen_at) <= AGENT_OFFLINE_MS;

/** GET /agents (rules/pipeline-agents#host-agents): every host that ever had an agent, by name. */
export const listAgents = async (
  ctx: Pick<PipelineContext, "db" | "wall_jumps">,
): Promise<Agent[]> =>
  (await ctx.db.agents.list()).map((row) => ({
    host: row.host,
    state: isAlive(ctx, row) ? "active" : "offline",
    desired: { instances: row.desired },
    revision: row.revision,
    report: row.report,
    last_seen_at: isoTimeOrNull(row.last_seen_at),
  }));

/** In the place of an agent that has gone silent; null while the host's agent lives. */
async function takeOver(
  ctx: Pick<PipelineContext, "db" | "wall_jumps">,
  host: string,
  said: Parameters<PipelineContext["db"]["agents"]["sync"]>[1],
): Promise<AgentRow | null> {
  const there = await ctx.db.agents.get(host);
  if (!there || isAlive(ctx, there)) return null;
  return ctx.db.agents.sync(host, said, there);
}

/**
 * POST /agents/{host}/sync (rules/pipeline-agents#sync): stores what the agent reports and answers what should run
 * there.
 * @throws AppError conflict while another agent speaks for the host.
 */
export async function syncAgent(
  ctx: Pick<PipelineContext, "clock" | "db" | "log" | "wall_jumps">,
  host: string,
  { agent_id, ...report }: SyncAgent,
): Promise<AgentSynced> {
  const said = { agent_id, report, now: ctx.clock.now() };
  const row = (await ctx.db.agents.sync(host, said, null)) ?? (await takeOver(ctx, host, said));
  if (!row) throw conflict(`another agent runs on ${host}`);
  await recordGpus(ctx, host, report.gpus);
  ctx.log.debug({ host, children: report.children.length }, "agent synced");
  return { desired: { instances: row.desired }, revision: row.revision };
}

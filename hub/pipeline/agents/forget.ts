import type { PipelineContext } from "../context.ts";

const DAY_MS = 86_400_000;
/** Elastic workers come and go under names that never return; a filter was set by a person. */
const FORGET_AFTER_MS = { plain: DAY_MS, filtered: 30 * DAY_MS, agent: 30 * DAY_MS };

/** Deletes workers and agents that have long been silent: otherwise their lists would grow forever. */
export async function forgetOnce({
  db,
  wall_jumps,
  log,
  pipeline,
}: Pick<PipelineContext, "db" | "wall_jumps" | "log" | "pipeline">): Promise<void> {
  const workers = await db.pull_workers.forget({
    plain_before: wall_jumps.olderThan(FORGET_AFTER_MS.plain),
    filtered_before: wall_jumps.olderThan(FORGET_AFTER_MS.filtered),
  });
  for (const id of workers) pipeline.pullers.delete(id);
  const agents = await db.agents.forget(wall_jumps.olderThan(FORGET_AFTER_MS.agent));
  if (workers.length + agents.length > 0)
    log.info({ workers, agents }, "forgot workers and agents that have long been silent");
}

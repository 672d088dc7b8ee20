import { notFound } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { WorkerCommand } from "#shared/protocol/schema/pull.ts";
import type { PipelineContext } from "../context.ts";

/** How long a command waits for its worker's next heartbeat. */
const COMMAND_TTL_MS = 600_000;
const keyOf = (worker_id: string) => `pull-command:${worker_id}`;

interface Waiting extends WorkerCommand {
  /** A newer process of the worker must not obey its predecessor's commands. */
  incarnation: string;
}

/**
 * POST /workers/{id}/admin-command. `drain` and `resume` take effect immediately; the others reach the worker with its
 * next heartbeat. A newer command replaces one that still waits.
 * @throws AppError not_found
 */
export async function commandPuller(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "kv" | "log">,
  worker_id: string,
  command: WorkerCommand["command"],
): Promise<WorkerCommand> {
  const row = await ctx.db.pull_workers.get(worker_id);
  if (!row) throw notFound("worker");
  const { incarnation } = row;
  const command_id = newToken().slice(0, 16);
  if (command === "drain" || command === "resume") {
    const draining = command === "drain";
    const changed = await ctx.db.pull_workers.beat(worker_id, incarnation, { draining });
    if (!changed) throw notFound("worker");
    ctx.pipeline.pullers.set(worker_id, changed);
  } else {
    const waiting: Waiting = { command_id, command, incarnation };
    await ctx.kv.set(keyOf(worker_id), waiting, COMMAND_TTL_MS);
  }
  ctx.pipeline.ready.nudge();
  ctx.pipeline.tell.worker(worker_id);
  ctx.log.info({ worker_id, command }, "command for a pull worker");
  return { command_id, command };
}

/** Commands for this process of the worker that it may not have received yet. */
export async function commandsFor(
  { kv }: Pick<PipelineContext, "kv">,
  worker_id: string,
  incarnation: string,
): Promise<WorkerCommand[]> {
  const waiting = await kv.get<Waiting>(keyOf(worker_id));
  if (waiting?.incarnation !== incarnation) return [];
  const { command_id, command } = waiting;
  return [{ command_id, command }];
}

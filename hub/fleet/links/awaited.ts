import type { FleetContext } from "../context.ts";
import { forgetWorker, keptLinks, keptSessions } from "./kept.ts";
import type { Awaited } from "./parts.ts";

export const noneAwaited = (): Awaited => ({ links: new Map(), sessions: new Map() });

/** At the start of a hub without others: reads what the previous hub kept, or forgets it when no worker is awaited. */
export async function readAwaited(
  ctx: Pick<FleetContext, "awaited" | "config" | "kept" | "clock">,
): Promise<void> {
  const { awaited, config } = ctx;
  const links = await keptLinks(ctx);
  if (config.link_grace_ms === 0) {
    for (const { worker_id } of links) await forgetWorker(ctx, worker_id);
    return;
  }
  for (const link of links) awaited.links.set(link.worker_id, link);
  for (const session of await keptSessions(ctx)) {
    const waits = awaited.links.has(session.worker_id) && session.expires_at > ctx.clock.now();
    if (waits) awaited.sessions.set(session.session_id, session);
  }
}

/** The worker is back: with its link, or as another process. */
export function notAwaited({ awaited }: Pick<FleetContext, "awaited">, worker_id: string): void {
  awaited.links.delete(worker_id);
  for (const [session_id, session] of awaited.sessions)
    if (session.worker_id === worker_id) awaited.sessions.delete(session_id);
}

/**
 * Waits for the previous hub's workers, for SVC_LINK_GRACE_S from now on.
 * @param lost called for each worker that is not back by then; what it ran is over.
 */
export async function awaitWorkers(
  ctx: Pick<FleetContext, "awaited" | "clock" | "config" | "kept" | "log" | "stopping">,
  lost: (worker_id: string) => Promise<void>,
): Promise<void> {
  const { awaited, clock, config, log, stopping } = ctx;
  if (awaited.links.size === 0) return;
  log.info(
    { workers: [...awaited.links.keys()], grace_ms: config.link_grace_ms },
    "waiting for the workers of the previous hub",
  );
  await clock.sleep(config.link_grace_ms, stopping);
  if (stopping.aborted) return;
  for (const worker_id of [...awaited.links.keys()]) {
    notAwaited(ctx, worker_id);
    await forgetWorker(ctx, worker_id);
    log.warn({ worker_id }, "a worker of the previous hub did not come back");
    await lost(worker_id);
  }
}

import type { Socket } from "#hub/platform/http/socket-handlers.ts";
import type { FleetContext } from "../context.ts";

/** A proxy between viewer and hub closes what is silent for long; so does a viewer's laptop that went to sleep. */
const PING_EVERY_MS = 10_000;
const MAX_UNANSWERED = 3;

export interface Keepalive {
  /** The peer answered. */
  heard(): void;
  stop(): void;
}

/** Pings `socket` every 10 s and drops it when three in a row stay unanswered. */
export function keepAlive(ctx: Pick<FleetContext, "clock">, socket: Socket): Keepalive {
  const over = new AbortController();
  let unanswered = 0;
  const run = async () => {
    while (!over.signal.aborted) {
      await ctx.clock.sleep(PING_EVERY_MS, over.signal);
      if (over.signal.aborted) return;
      if (unanswered >= MAX_UNANSWERED) return socket.terminate();
      unanswered += 1;
      socket.ping();
    }
  };
  void run();
  return {
    heard: () => {
      unanswered = 0;
    },
    stop: () => over.abort(),
  };
}

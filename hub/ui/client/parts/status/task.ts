import { IconCircleX, IconClock, IconClockPause, IconLoader2 } from "@tabler/icons-react";
import type { QueueRow } from "#shared/protocol/schema/queue.ts";
import { dayClockText } from "../../lib/units.ts";
import { type Look, look } from "./look.ts";

type Told = Pick<QueueRow, "state" | "run_at" | "attempt" | "max_attempts">;

/** A task in the queue. @param now by the server's clock */
export function taskLook({ state, run_at, attempt, max_attempts }: Told, now: number): Look {
  if (state === "claimed") return look("Running", "live", IconLoader2);
  if (state === "failed")
    return look(attempt >= max_attempts ? "Failed, no attempt left" : "Failed", "bad", IconCircleX);
  const at = new Date(run_at);
  return at.getTime() > now
    ? look(`Delayed until ${dayClockText(at, new Date(now))}`, "idle", IconClockPause)
    : look("Ready", "idle", IconClock);
}

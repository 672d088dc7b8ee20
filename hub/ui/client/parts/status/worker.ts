import { IconLogout } from "@tabler/icons-react";
import { type Look, look, lookOf } from "./look.ts";

/** @param left what a worker that is draining still does */
export function workerLook(state: string, alive = true, left = 0): Look {
  if (!alive) return lookOf("offline");
  if ((state === "drain" || state === "draining") && left > 0)
    return look(`Draining · ${left} left`, "warn", IconLogout);
  return lookOf(state);
}

import { IconLogout } from "@tabler/icons-react";
import { type Look, look, lookOf } from "./look.ts";

interface Told {
  /** `drain` of a browser worker, `draining` of a pipeline worker. */
  state: string;
  alive?: boolean;
  /** What it still does. */
  in_flight: number;
}

/** A worker of either kind; one that drains says what is left. */
export function workerLook({ state, alive = true, in_flight }: Told): Look {
  if (!alive) return lookOf("offline");
  if ((state === "drain" || state === "draining") && in_flight > 0)
    return look(`Draining · ${in_flight} left`, "warn", IconLogout);
  return lookOf(state);
}

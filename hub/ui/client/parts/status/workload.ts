import {
  IconAlertTriangle,
  IconCircleDot,
  IconCircleX,
  IconLoader2,
  IconPlayerPause,
  IconPlugConnectedX,
  IconUserOff,
} from "@tabler/icons-react";
import { type Look, look } from "./look.ts";

/** From here on some runs fail, and from there on most do. */
const SOME = 0.02;
const MOST = 0.5;

interface Told {
  enabled: boolean;
  /** Its code does not load. */
  broken: boolean;
  /** By its supervisor. */
  paused?: boolean;
  /** No worker that is on may run it. */
  no_worker?: boolean;
  running: number;
  /** Of its last runs, 0 to 1; null before the first. */
  success_rate: number | null;
}

const percent = (share: number): string => `${Math.max(1, Math.round(share * 100))} %`;

/** Broken comes before every other state. */
export function workloadLook(told: Told): Look {
  if (told.broken) return look("Broken", "bad", IconPlugConnectedX);
  // The supervisor pauses a workload by switching it off.
  if (told.paused) return look("Paused", "warn", IconPlayerPause);
  if (!told.enabled) return look("Off", "idle", IconPlayerPause);
  if (told.no_worker) return look("No worker for it", "warn", IconUserOff);
  const failing = told.success_rate === null ? 0 : 1 - told.success_rate;
  if (failing >= MOST) return look(`Failing · ${percent(failing)}`, "bad", IconCircleX);
  if (failing >= SOME) return look(`Some fail · ${percent(failing)}`, "warn", IconAlertTriangle);
  return told.running > 0
    ? look("Running", "live", IconLoader2)
    : look("Idle", "idle", IconCircleDot);
}

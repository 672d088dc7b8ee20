import {
  type Icon,
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDot,
  IconCircleMinus,
  IconCircleX,
  IconClock,
  IconClockExclamation,
  IconClockPause,
  IconLoader2,
  IconLogout,
  IconPlayerPause,
  IconPlugOff,
  IconUnlink,
} from "@tabler/icons-react";

/** The colours of the tokens: what is well, what to look at, what is broken, what goes on, what rests. */
export type Tone = "ok" | "warn" | "bad" | "live" | "idle";

/** How a state is shown: always an icon and a word, which the colour repeats. */
export interface Look {
  word: string;
  tone: Tone;
  icon: Icon;
}

export const look = (word: string, tone: Tone, icon: Icon): Look => ({ word, tone, icon });

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const ok = IconCircleCheck;
const bad = IconCircleX;
const rest = IconCircleDot;
const off = IconCircleMinus;
const turns = IconLoader2;

/** States that are the same wherever they stand, by their names in the API. What depends on more has a function of its own. */
const LOOKS: Record<string, [Tone, Icon, string?]> = {
  queued: ["idle", IconClock],
  pending: ["idle", IconClock],
  delayed: ["idle", IconClockPause],
  running: ["live", turns],
  in_progress: ["live", turns, "Running"],
  claimed: ["live", turns, "Running"],
  completed: ["ok", ok],
  succeeded: ["ok", ok],
  success: ["ok", ok, "Succeeded"],
  ok: ["ok", ok],
  failed: ["bad", bad],
  error: ["bad", bad, "Failed"],
  crashed: ["bad", bad],
  timeout: ["warn", IconClockExclamation, "Too slow"],
  lease_expired: ["warn", IconUnlink, "Worker lost"],
  interrupted: ["warn", IconUnlink],
  cancelled: ["idle", off],
  canceled: ["idle", off, "Cancelled"],
  stale: ["warn", IconAlertTriangle],
  changed: ["live", IconAlertTriangle],
  unchanged: ["idle", rest],
  new: ["ok", ok],
  gone: ["bad", off],
  active: ["ok", ok],
  drain: ["warn", IconLogout, "Draining"],
  draining: ["warn", IconLogout],
  standby: ["idle", IconPlayerPause],
  offline: ["bad", IconPlugOff],
  alive: ["ok", ok],
  warm: ["ok", ok, "Free"],
  busy: ["live", turns],
  leased: ["live", turns],
  starting: ["live", turns],
  booting: ["live", turns],
  recycling: ["live", turns],
  resetting: ["live", turns],
  dead: ["bad", bad],
  quarantined: ["bad", IconAlertTriangle],
  idle: ["idle", rest],
  backoff: ["warn", IconClockExclamation],
  stopping: ["warn", IconLogout],
  on: ["ok", ok],
  off: ["idle", IconPlayerPause],
  paused: ["warn", IconPlayerPause],
  enabled: ["ok", ok],
  disabled: ["idle", IconPlayerPause],
  debug: ["idle", rest],
  info: ["live", rest],
  warn: ["warn", IconAlertTriangle],
};

/** The look of a state by its name; of one that is not known its name. */
export function lookOf(value: string): Look {
  const word = capital(value.replaceAll("_", " "));
  const [tone, icon, other] = LOOKS[value] ?? ["idle", rest];
  return look(other ?? word, tone, icon);
}

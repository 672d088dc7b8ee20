import { useNowText } from "../lib/now.ts";
import { agoText, durationText, timeText } from "../lib/units.ts";

// Plain elements, none of the library: these stand in every row of every table.

const COLORS: Record<string, string> = {
  // Jobs, sessions, runs.
  queued: "gray",
  pending: "gray",
  running: "blue",
  claimed: "blue",
  completed: "teal",
  success: "teal",
  ok: "teal",
  failed: "red",
  error: "red",
  timeout: "orange",
  crashed: "red",
  lease_expired: "orange",
  cancelled: "gray",
  delayed: "grape",
  stale: "orange",
  // Captures of watches, and what two of them differ in.
  changed: "orange",
  unchanged: "gray",
  new: "teal",
  gone: "red",
  // Workers and lanes.
  active: "teal",
  drain: "orange",
  draining: "orange",
  standby: "gray",
  offline: "red",
  alive: "teal",
  warm: "teal",
  busy: "blue",
  leased: "blue",
  starting: "yellow",
  recycling: "yellow",
  dead: "red",
  booting: "yellow",
  resetting: "yellow",
  quarantined: "red",
  idle: "teal",
  backoff: "orange",
  stopping: "orange",
  on: "teal",
  off: "gray",
  paused: "orange",
  enabled: "teal",
  disabled: "gray",
  // Log lines.
  debug: "gray",
  info: "blue",
  warn: "orange",
};

interface StatusProps {
  value: string;
  /** What it says in place of the value, and in which colour. */
  word?: string;
  color?: string;
  title?: string;
}

export function Status({
  value,
  word = value.replaceAll("_", " "),
  color = COLORS[value] ?? "gray",
  title,
}: StatusProps) {
  return (
    <span
      className="state"
      style={{
        background: `var(--mantine-color-${color}-light)`,
        color: `var(--mantine-color-${color}-light-color)`,
      }}
      title={title}
      data-status={value}
    >
      {word}
    </span>
  );
}

/** How long ago, counting; the moment itself on hover. */
export function Ago({ at }: { at: string | null | undefined }) {
  const text = useNowText((now) => agoText(at, now));
  return (
    <time dateTime={at ?? undefined} title={at ? timeText(at) : undefined}>
      {text}
    </time>
  );
}

/** From `since` to `until`, or counting while there is no end. */
export function Elapsed({
  since,
  until,
}: {
  since: string | null | undefined;
  until?: string | null;
}) {
  return useNowText((now) =>
    since ? durationText(Math.max(0, (until ? Date.parse(until) : now) - Date.parse(since))) : "–",
  );
}

/** Text from outside on one line, whole on hover. */
export function Clip({
  text,
  mono = false,
  maw,
}: {
  text: string | null | undefined;
  mono?: boolean;
  maw?: number | string;
}) {
  return (
    <span
      className="clip"
      data-mono={mono || undefined}
      style={{ maxWidth: maw }}
      title={text ?? undefined}
    >
      {text || "–"}
    </span>
  );
}

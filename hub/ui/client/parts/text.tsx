import { useNowText } from "../lib/now.ts";
import { agoText, durationText, timeText } from "../lib/units.ts";

export { Status } from "./status-mark.tsx";

// Plain elements, none of the library: these stand in every row of every table.

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

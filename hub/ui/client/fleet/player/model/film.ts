/** Seconds between two labels of the time axis. */
const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200];

/** Moments with a label: round ones, no more than there is room for. The last never runs over the end. */
export function tickMoments(whole_ms: number, most: number): number[] {
  if (whole_ms <= 0 || most < 1) return [0];
  const step_s = STEPS_S.find((s) => whole_ms / (s * 1_000) < most) ?? whole_ms / most / 1_000;
  const step_ms = step_s * 1_000;
  const room = whole_ms - step_ms * 0.25;
  return Array.from({ length: Math.floor(room / step_ms) + 1 }, (_, i) => Math.round(i * step_ms));
}

/** Label of a tick: `0.5 s`, `12 s`, `1:30`. */
export function tickText(ms: number): string {
  const s = ms / 1_000;
  if (s < 60) return `${Number.isInteger(s) ? s : s.toFixed(1)} s`;
  const two = (n: number) => String(n).padStart(2, "0");
  const [hours, minutes, seconds] = [Math.floor(s / 3_600), Math.floor(s / 60) % 60, s % 60];
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(Math.floor(seconds))}`
    : `${minutes}:${two(Math.floor(seconds))}`;
}

/** Nothing happens for so long before it is quiet, and playing goes on so shortly before the next thing. */
const QUIET_MS = 1_500;
const BEFORE_MS = 400;

/** Where playing goes on from a moment in a quiet time; null where it is not quiet. @param busy moments in order */
export function quietUntil(busy: readonly number[], ms: number, whole_ms: number): number | null {
  const before = busy.findLast((at) => at <= ms) ?? Number.NEGATIVE_INFINITY;
  const next = busy.find((at) => at > ms) ?? whole_ms;
  const to = next - BEFORE_MS;
  return ms - before > QUIET_MS / 2 && to - ms > QUIET_MS ? to : null;
}

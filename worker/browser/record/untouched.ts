import type { Clock } from "#shared/kit/clock.ts";
import { declaredLength, type RequestEntry } from "./requests.ts";

/** So much of a body comes before anybody reads it; then Chromium stops reading from the network (measured with 156). */
const AHEAD_BYTES = 2 * 1024 * 1024;
/** The first bytes of a body that is read come with its head, or soon after. */
const STILL_MS = 3_000;
/** On a machine that is busy everything takes longer, so this many answers of the page are waited for. */
const STILL_ANSWERS = 10;

/**
 * Whether this answer stays in the network for as long as its page does not read it: Blink reads ahead what may be stored, and
 * a smaller one arrives whole. Where no length was told, a server that has nothing to say yet looks the same.
 */
export const mayStayAway = (entry: RequestEntry): boolean =>
  entry.type === "Fetch" &&
  /\bno-store\b/i.test(entry.headers.get("cache-control") ?? "") &&
  (declaredLength(entry.headers) ?? 0) > AHEAD_BYTES;

/**
 * Resolves with whether nothing of a body was read, though its page had the time to: its main thread answered, and for as long
 * as is usual on this machine not a byte was told.
 * @param isOpen whether its end was not told yet
 */
export async function isUntouched(
  entry: RequestEntry,
  clock: Clock,
  isOpen: () => boolean,
): Promise<boolean> {
  const answer = () => entry.target.session.send("Runtime.evaluate", { expression: "0" });
  const waits = () => isOpen() && entry.received === 0;
  try {
    // A page that is busy has not begun to read; it may when it answers.
    await answer();
    const asked_at = clock.monotonic();
    await answer();
    const answer_ms = clock.monotonic() - asked_at;
    if (!waits()) return false;
    await clock.sleep(Math.max(STILL_MS, STILL_ANSWERS * answer_ms));
    await answer();
    return waits();
  } catch {
    // Gone, or mute: the rule for what makes no progress holds.
    return false;
  }
}

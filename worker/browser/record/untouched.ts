import type { Clock } from "#shared/kit/clock.ts";
import { declaredLength, type RequestEntry } from "./requests.ts";

/**
 * This much of a body arrives before anybody reads it; then Chromium stops reading from the network (measured with
 * 156).
 */
const AHEAD_BYTES = 2 * 1024 * 1024;
/** The first bytes of a body that is read come with its headers, or soon after. */
const STILL_MS = 3_000;
/** On a busy machine everything takes longer, so we wait for this many answers of the page. */
const STILL_ANSWERS = 10;

/**
 * Whether this answer stays in the network for as long as its page does not read it: Blink reads ahead what may be
 * stored, and a smaller body arrives whole. When no length was announced, a server that has nothing to send yet looks
 * the same.
 */
export const mayStayAway = (entry: RequestEntry): boolean =>
  entry.type === "Fetch" &&
  /\bno-store\b/i.test(entry.headers.get("cache-control") ?? "") &&
  (declaredLength(entry.headers) ?? 0) > AHEAD_BYTES;

/**
 * Resolves with whether nothing of a body was read although its page had time to: its main thread answered, and no
 * byte was reported for as long as is usual on this machine.
 * @param isOpen whether no end was reported yet
 */
export async function isUntouched(
  entry: RequestEntry,
  clock: Clock,
  isOpen: () => boolean,
): Promise<boolean> {
  const answer = () => entry.target.session.send("Runtime.evaluate", { expression: "0" });
  const waits = () => isOpen() && entry.received === 0;
  try {
    // A busy page has not begun to read; it may do so when it answers.
    await answer();
    const asked_at = clock.monotonic();
    await answer();
    const answer_ms = clock.monotonic() - asked_at;
    if (!waits()) return false;
    await clock.sleep(Math.max(STILL_MS, STILL_ANSWERS * answer_ms));
    await answer();
    return waits();
  } catch {
    // The page is gone or silent: the rule for requests without progress applies.
    return false;
  }
}

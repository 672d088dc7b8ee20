import type { ToolCall } from "./tool.ts";

interface Looking<T> {
  isOver(now: T): boolean;
  /** What the client is told before each look. */
  wordsOf(now: T): string;
  /** How long to wait before the next look, after so long. */
  pauseOf(waited_ms: number): number;
  look(): Promise<T>;
}

/** What is looked at once it is over, or as it is when the time is. */
export async function lookUntil<T>(
  { clock, signal, tell }: Pick<ToolCall, "clock" | "signal" | "tell">,
  first: T,
  wait_ms: number,
  { isOver, wordsOf, pauseOf, look }: Looking<T>,
): Promise<T> {
  const began = clock.monotonic();
  let now = first;
  for (;;) {
    const waited = clock.monotonic() - began;
    if (isOver(now) || waited >= wait_ms || signal.aborted) return now;
    tell(wordsOf(now));
    await clock.sleep(Math.min(pauseOf(waited), wait_ms - waited), signal);
    now = await look();
  }
}

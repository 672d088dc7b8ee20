import { heapStats } from "bun:jsc";

/** What is on the heap once everything that nobody holds has been collected: what ended in this turn goes in the next. */
export async function objectsHeld(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    Bun.gc(true);
  }
  return heapStats().objectCount;
}

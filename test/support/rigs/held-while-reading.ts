const LOOK_EVERY_BYTES = 16 * 1024 * 1024;

/**
 * Reads a body to its end without keeping it: how many bytes it had, and how far this process's memory rose meanwhile, in
 * MB. How much garbage may pile up depends on what other tests have left, so it is collected before each look.
 */
export async function heldWhileReading(
  open: () => Promise<AsyncIterable<Uint8Array> | null>,
): Promise<{ bytes: number; held_mb: number }> {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  let peak = 0;
  let bytes = 0;
  let looked_at = 0;
  for await (const chunk of (await open()) ?? []) {
    bytes += chunk.length;
    if (bytes - looked_at < LOOK_EVERY_BYTES) continue;
    looked_at = bytes;
    Bun.gc(true);
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  return { bytes, held_mb: (peak - before) / 1024 / 1024 };
}

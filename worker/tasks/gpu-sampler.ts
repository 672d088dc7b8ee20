import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { GpuReading } from "#shared/protocol/schema/pull.ts";

/** Starting the driver costs up to a second of CPU where its persistence mode is off. */
const READ_EVERY_MS = 60_000;
/** Above the reader's own limit: a grandchild of the tool that holds a pipe open must not block this forever. */
const READ_DEADLINE_MS = 10_000;
/** Older readings say nothing about the present. */
const KEEP_MS = 3 * READ_EVERY_MS;

/**
 * The last reading of this machine's GPUs, taken at most once a minute and never waited for: a heartbeat renews leases and
 * must not hang on a driver. Empty until the first reading is there, and again when none succeeded for three minutes.
 */
export function createGpuSampler(deps: {
  clock: Clock;
  log: Log;
  read: () => Promise<GpuReading[]>;
}): () => GpuReading[] {
  const { clock, log, read } = deps;
  let last: { at: number; gpus: GpuReading[] } | null = null;
  let asked = clock.monotonic();
  const refresh = async (): Promise<void> => {
    const at = clock.monotonic();
    asked = at;
    try {
      last = { at, gpus: await withDeadline("reading the GPUs", READ_DEADLINE_MS, read(), clock) };
    } catch (err) {
      log.warn({ err: errorMessage(err) }, "could not read the GPUs");
    }
  };
  // Started now so that the first heartbeat includes it.
  void refresh();
  return () => {
    const now = clock.monotonic();
    if (now - asked >= READ_EVERY_MS) void refresh();
    return last !== null && now - last.at <= KEEP_MS ? last.gpus : [];
  };
}

import type { Clock } from "#shared/clock.ts";
import { ConfigError } from "#shared/env.ts";
import type { Log } from "#shared/log.ts";
import type { Kv } from "./kv.ts";
import { createMemoryKv } from "./kv-memory.ts";
import type { LaneLeases } from "./leases.ts";
import { createMemoryLeases } from "./leases-memory.ts";
import type { PubSub } from "./pubsub.ts";
import { createMemoryPubSub } from "./pubsub-memory.ts";

/** Short-lived state that the hubs of a fleet share (design/architecture.md §4). */
export interface SharedStores {
  kv: Kv;
  leases: LaneLeases;
  pubsub: PubSub;
  close(): Promise<void>;
}

export interface OpenSharedOptions {
  clock: Clock;
  log: Log;
}

/**
 * The shared stores of a single hub without a URL, or in Redis: `redis://[user:password@]host[:port][/database]`.
 * @throws ConfigError naming SVC_REDIS_URL when it cannot be used.
 */
export async function openShared(
  url: string | null,
  { clock }: OpenSharedOptions,
): Promise<SharedStores> {
  if (url !== null) throw new ConfigError("SVC_REDIS_URL: is not supported by this version");
  const kv = createMemoryKv(clock);
  const pubsub = createMemoryPubSub();
  return {
    kv,
    pubsub,
    leases: createMemoryLeases(clock),
    close: async () => {
      await pubsub.close();
      await kv.close();
    },
  };
}

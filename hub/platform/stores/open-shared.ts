import type { Clock } from "#shared/kit/clock.ts";
import { ConfigError, UnavailableError } from "#shared/kit/env.ts";
import type { Log } from "#shared/kit/log.ts";
import type { SharedDriverName, SharedStore } from "../shared-drivers.ts";
import type { Kv } from "./kv.ts";
import { createMemoryKv } from "./kv-memory.ts";
import { createRedisKv } from "./kv-redis.ts";
import type { LaneLeases } from "./leases.ts";
import { createMemoryLeases } from "./leases-memory.ts";
import { createRedisLeases } from "./leases-redis.ts";
import type { PubSub } from "./pubsub.ts";
import { createMemoryPubSub } from "./pubsub-memory.ts";
import { openRedisPubSub } from "./pubsub-redis.ts";
import { connectRedis, type Redis } from "./redis.ts";
import { judgeRedis, placeOf, readRedisUrl } from "./redis-url.ts";

/** Short-lived state that the hubs of a fleet share (rules/storage#which-state-lives-where). */
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

type Open = (at: SharedStore, options: OpenSharedOptions) => Promise<SharedStores>;
const OPEN: Record<SharedDriverName, Open> = { redis: openRedis };

/**
 * The stores of a single hub, in its memory, or those that several hubs share.
 * @throws UnavailableError naming the store's variable when the store cannot be used; the error never shows a password.
 */
export const openShared = async (
  at: SharedStore | null,
  options: OpenSharedOptions,
): Promise<SharedStores> =>
  at === null ? createMemoryStores(options) : OPEN[at.driver](at, options);

/** Stores in this process: of a single hub, and of the hubs of a test. */
export function createMemoryStores({ clock, log }: OpenSharedOptions): SharedStores {
  const kv = createMemoryKv(clock);
  const pubsub = createMemoryPubSub(log);
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

/**
 * `redis://[user:password@]host[:port][/database]`, with `rediss://` over TLS and `redis+unix:///path` on a socket, which
 * takes no password.
 */
async function openRedis(
  { url: given, prefix }: SharedStore,
  { log }: OpenSharedOptions,
): Promise<SharedStores> {
  const url = readRedisUrl(given);
  let redis: Redis | undefined;
  try {
    redis = await connectRedis(url, { log });
    const pubsub = await openRedisPubSub(url, { redis, prefix, log });
    const connection = redis;
    return {
      kv: createRedisKv(connection, prefix),
      leases: createRedisLeases(connection, prefix),
      pubsub,
      close: async () => {
        await pubsub.close();
        await connection.close();
      },
    };
  } catch (err) {
    await redis?.close();
    const { words, refused } = await judgeRedis(url, err);
    const Kind = refused ? ConfigError : UnavailableError;
    throw new Kind(`SVC_REDIS_URL: cannot use Redis at ${placeOf(url)}: ${words}`);
  }
}

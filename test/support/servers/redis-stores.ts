import { connectRedis, type Redis } from "#hub/platform/stores/redis.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startRedis, type TestRedis } from "./redis.ts";

/**
 * A millisecond of a test's story as it is told to Redis, whose clock goes on by itself: two minutes, so that what really
 * passes between two steps is nothing beside it.
 */
export const STRETCH = 120_000;

export interface RedisStores {
  server: TestRedis;
  connection: Redis;
  /** Keys of one test. `advance` lets milliseconds of its story pass: it sets every expiry of its keys back. */
  space(): { prefix: string; advance(ms: number): Promise<void> };
  close(): Promise<void>;
}

// KEYS are expiring keys, and sorted sets that hold times. ARGV: by how many ms.
const SET_BACK = `
for _, key in ipairs(KEYS) do
  if redis.call('TYPE', key).ok == 'zset' then
    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      redis.call('ZINCRBY', key, -ARGV[1], member)
    end
  end
  local at = redis.call('PEXPIRETIME', key)
  if at > 0 then redis.call('PEXPIREAT', key, at - ARGV[1]) end
end
return 1`;

/** A Redis server for one test file. */
export async function openRedisStores(): Promise<RedisStores> {
  const server = await startRedis();
  const connection = await connectRedis(server.url, { log: silentLog });
  let count = 0;
  return {
    server,
    connection,
    space: () => {
      count += 1;
      const prefix = `test${count}:`;
      return {
        prefix,
        advance: async (ms) => {
          const keys: string[] = await server.send("KEYS", `${prefix}*`);
          await server.send(
            "EVAL",
            ...[SET_BACK, String(keys.length), ...keys, String(ms * STRETCH)],
          );
        },
      };
    },
    close: async () => {
      await connection.close();
      await server.stop();
    },
  };
}

import { startKeptRouter } from "./fleet-router.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { startRedis, type TestRedis } from "./redis.ts";

/**
 * Servers that a test process starts once and keeps until its end. Bun gives every test file modules of its own, so what
 * the process keeps lies outside of them; test/setup.ts lets these live between files and ends them.
 */
export interface TestServers {
  postgres: TestPostgres;
  redis: TestRedis;
}

const kept = globalThis as {
  flotillaServers?: Promise<TestServers>;
  /** Whether the process with that command line may outlive a test file. */
  flotillaKept?: (command: string) => boolean;
  flotillaAtEnd?: () => unknown;
};

export const testServers = (): Promise<TestServers> => {
  kept.flotillaServers ??= start();
  return kept.flotillaServers;
};

async function start(): Promise<TestServers> {
  const [postgres, redis, router] = await Promise.all([
    startPostgres(),
    startRedis(),
    startKeptRouter(),
  ]);
  // The first one migrates the template of the others.
  await postgres.createDatabase();
  const own = [postgres, redis].map(({ url }) => new RegExp(`\\b${new URL(url).port}\\b`));
  const others = kept.flotillaKept;
  kept.flotillaKept = (command) =>
    command.includes(router.dir) ||
    own.some((port) => port.test(command)) ||
    others?.(command) === true;
  const before = kept.flotillaAtEnd;
  kept.flotillaAtEnd = async () => {
    await Promise.all([postgres.stop(), redis.stop(), router.stop()]);
    await before?.();
  };
  return { postgres, redis };
}

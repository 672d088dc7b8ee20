import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HubConfig, type HubMode, loadHubConfig } from "#hub/platform/config.ts";
import { openShared, type SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { ProgramContext } from "#hub/program/context.ts";
import { type HubDeps, type RunningHub, startHub } from "#hub/program/serve.ts";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { silentLog } from "#shared/kit/log.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { mergeContexts } from "../fakes/merge-contexts.ts";
import { takeRouter } from "../servers/fleet-router.ts";
import type { TestRouter } from "../servers/router.ts";
import { testServers } from "../servers/test-servers.ts";
import type { TestHubOptions } from "./hub-options.ts";

/** The hubs behind the address a test calls: one, or three behind a router. */
export interface HubSet {
  url: string;
  ctx: ProgramContext;
  /** Of each hub. */
  contexts: readonly ProgramContext[];
  stop(): Promise<void>;
}

/** Starts hubs of one configuration, any number of times one after the other; `close` when they are stopped for good. */
export interface HubSetMaker {
  start(deps: Omit<HubDeps, "config">): Promise<HubSet>;
  close(): Promise<void>;
}

/** `FLOTILLA_TEST_FLEET=1`: every hub of a test that says nothing else is three hubs behind a router. */
export const isFleetMode = ({ env = {}, mode, shared, alone }: TestHubOptions): boolean =>
  process.env.FLOTILLA_TEST_FLEET === "1" &&
  // Development mode is one process on SQLite; a test with a port, a database or stores of its own is about one hub.
  mode !== "dev" &&
  !alone &&
  shared === undefined &&
  env.SVC_PORT === undefined &&
  env.SVC_DB_URL === undefined;

/** One hub, with the context of its start. */
async function startOne(deps: HubDeps): Promise<HubSet & { running: RunningHub }> {
  let ctx: ProgramContext | undefined;
  const running = await startHub({
    ...deps,
    onContext: (made) => {
      ctx = made;
      deps.onContext?.(made);
    },
  });
  // The control plane alone has none; tests of it do not ask.
  const made = ctx as ProgramContext;
  return { running, url: running.url, ctx: made, contexts: [made], stop: () => running.stop() };
}

export const singleHub = (config: HubConfig): HubSetMaker => ({
  start: (deps) => startOne({ ...deps, config }),
  close: async () => {},
});

/** Fleets whose test has not closed them, and the file it is in (test/setup.ts); outlives a file's modules. */
const kept = globalThis as {
  flotillaOpen?: Map<() => Promise<unknown>, string>;
};

/** How long a POST waits for a lane of such a fleet, where a test says nothing else. */
export const FLEET_WAIT_MS = 600;

/**
 * Real time, in which that wait is over once what the hubs were telling each other has arrived as well: on a busy machine
 * it takes longer.
 */
const patientClock = (contexts: () => readonly ProgramContext[]): Clock => ({
  ...systemClock,
  sleep: async (ms, signal) => {
    await systemClock.sleep(ms, signal);
    if (ms !== FLEET_WAIT_MS) return;
    // Asked, taken, told: each is a message, and a pass of the queue.
    for (let round = 0; round < 3 && !signal?.aborted; round += 1) {
      const passes = contexts().map(async ({ kv, dispatcher }) => {
        await kv.get("settled:1");
        await dispatcher.exclusive(async () => {});
      });
      const over = new Promise<void>((resolve) => {
        signal?.addEventListener("abort", () => resolve(), { once: true });
      });
      await Promise.race([Promise.allSettled(passes), over]);
    }
  },
});

/**
 * Three hubs on one Postgres database, one Redis and one directory of objects, behind HAProxy, which passes everything on as
 * it was sent (nginx refuses some bad paths itself). A test that has a
 * clock of its own gets shared stores in memory, which go by that clock.
 */
export async function fleetOfHubs(env: EnvSource, mode: HubMode): Promise<HubSetMaker> {
  const { postgres, redis } = await testServers();
  const db_url = await postgres.createDatabase();
  const prefix = `test-${newToken().slice(0, 8)}:`;
  const others = await mkdtemp(join(tmpdir(), "flotilla-hubs-"));
  const data_dir = env.SVC_DATA_DIR ?? "";
  let router: TestRouter | undefined;
  let stopAll = async () => {};
  const close = async () => {
    open.delete(endAll);
    await router?.stop();
    await rm(others, { recursive: true, force: true });
  };
  const endAll = () => stopAll().finally(close);
  kept.flotillaOpen ??= new Map();
  const open = kept.flotillaOpen;
  open.set(endAll, Bun.main);

  const configOf = (n: number, in_memory: boolean) =>
    loadHubConfig(
      {
        SVC_OBJECTS_URL: `file:${join(data_dir, "objects")}`,
        SVC_PLUGINS_DIR: join(data_dir, "plugins"),
        SVC_SECRET_KEY_FILE: join(data_dir, "secret.key"),
        // A connection costs the server a process: ten of each hub are an eighth of a whole run.
        SVC_DB_POOL_SIZE: "3",
        ...env,
        SVC_DB_URL: db_url,
        ...(in_memory ? {} : { SVC_REDIS_URL: redis.url, SVC_REDIS_PREFIX: prefix }),
        ...(n > 0 ? { SVC_DATA_DIR: join(others, String(n)) } : {}),
      },
      {},
      mode,
    );

  return {
    start: async (deps) => {
      let shared: SharedStores | undefined;
      const sets: HubSet[] = [];
      const stop = async () => {
        await Promise.all(sets.filter(Boolean).map((hub) => hub.stop()));
        await shared?.close();
      };
      stopAll = stop;
      try {
        const in_real_time = deps.clock === systemClock;
        if (!in_real_time) shared = await openShared(null, { clock: deps.clock, log: silentLog });
        const clock = in_real_time
          ? patientClock(() => sets.filter(Boolean).map(({ ctx }) => ctx))
          : deps.clock;
        const startHub = async (n: number) => {
          const config = configOf(n, shared !== undefined);
          sets[n] = await startOne({ ...deps, clock, config, ...(shared && { shared }) });
        };
        // As an operator would: what only the first hub of a fleet does is done when the others come.
        await startHub(0);
        const started = await Promise.allSettled([startHub(1), startHub(2)]);
        for (const each of started) if (each.status === "rejected") throw each.reason;
        const urls = sets.map((hub) => hub.url);
        if (router) await router.setHubs(urls);
        else router = await takeRouter(urls);
      } catch (err) {
        await stop();
        throw err;
      }
      const contexts = sets.map((hub) => hub.ctx);
      return { url: router.url, ctx: mergeContexts(contexts), contexts, stop };
    },
    close,
  };
}

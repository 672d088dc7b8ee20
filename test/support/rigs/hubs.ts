import { createMemoryStores, type SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { PubSub } from "#hub/platform/stores/pubsub.ts";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startPostgres, type TestPostgres } from "../servers/postgres.ts";
import { startTestHub, type TestHub } from "./hub.ts";
import type { TestHubOptions } from "./hub-options.ts";

/** Stores in this process that several hubs share. */
export function memoryStores(clock: Clock = systemClock): SharedStores {
  return createMemoryStores({ clock, log: silentLog });
}

/** A hub's own view of the messages: those for which `loses` says so reach it no more, nor leave it. */
export interface Lossy extends PubSub {
  loses: (type: string) => boolean;
  /** As after a connection that was away. */
  gap(): void;
}

function lossy(inner: PubSub): Lossy {
  const gaps = new Set<() => void>();
  const lost = (message: unknown) => {
    const type = (message as { type?: string }).type ?? "events";
    return view.loses(type);
  };
  const view: Lossy = {
    loses: () => false,
    gap: () => {
      for (const handler of gaps) handler();
    },
    publish: (channel, message) => {
      if (!lost(message)) inner.publish(channel, message);
    },
    subscribe: (channel, handler) =>
      inner.subscribe(channel, (message) => {
        if (!lost(message)) handler(message);
      }),
    onGap: (handler) => {
      gaps.add(handler);
      return () => gaps.delete(handler);
    },
    close: async () => {},
  };
  return view;
}

/** Hubs of one fleet, and what each hears. */
export interface Fleet {
  hubs: TestHub[];
  shared: SharedStores;
  messages: Lossy[];
  /** Another hub of it. */
  add(options?: TestHubOptions): Promise<TestHub>;
  close(): Promise<void>;
}

export interface FleetOptions extends TestHubOptions {
  count?: number;
}

/** A private Postgres server and the fleets started on it: `open` before the suite, `close` after it. */
export function fleetsOnPostgres() {
  let server: TestPostgres | undefined;
  const fleets: Fleet[] = [];
  const start = async ({ count = 2, ...options }: FleetOptions = {}): Promise<Fleet> => {
    if (!server) throw new Error("the server is not open");
    const SVC_DB_URL = await server.createDatabase();
    const shared = options.shared ?? memoryStores(options.clock);
    const fleet: Fleet = {
      hubs: [],
      shared,
      messages: [],
      add: async (more = {}) => {
        const pubsub = lossy(shared.pubsub);
        const hub = await startTestHub({
          ...options,
          shared: { ...shared, pubsub },
          ...more,
          env: { SVC_DB_URL, SVC_SUBMIT_WAIT_S: "8", ...options.env, ...more.env },
        });
        fleet.hubs.push(hub);
        fleet.messages.push(pubsub);
        await allKnown(fleet.hubs);
        return hub;
      },
      close: async () => {
        await Promise.all(fleet.hubs.map((hub) => hub.close()));
        await shared.close();
      },
    };
    fleets.push(fleet);
    for (let i = 0; i < count; i += 1) await fleet.add();
    return fleet;
  };
  return {
    open: async () => {
      server = await startPostgres();
      await server.createDatabase();
    },
    start,
    /** Ends the fleets of one test. */
    end: async () => {
      await Promise.all(fleets.splice(0).map((fleet) => fleet.close()));
    },
    close: async () => server?.stop(),
  };
}

const allKnown = (hubs: TestHub[]): Promise<void> =>
  until(() => hubs.every((hub) => hub.ctx.cluster.peers.size >= hubs.length - 1));

/** Asks again and again, for at most a minute. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const give_up_at = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > give_up_at) throw new Error(`never: ${holds.toString()}`);
    await systemClock.sleep(2);
  }
}

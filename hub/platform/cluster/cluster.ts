import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { PubSub } from "../stores/pubsub.ts";
import { HUBS_CHANNEL, HubMessage, type HubNews, MAX_WAKE_JOBS } from "./messages.ts";
import type { Peer } from "./peers.ts";

/** Wakes that are requested this close together share one message. */
const WAKE_EVERY_MS = 50;
/**
 * A hub that is silent for this long and not in the registry no longer counts. A live hub sends a message every second.
 */
const SILENT_MS = 15_000;

/** What this hub knows of the others, and how it sends to them. It sends nothing while there are none. */
export interface Cluster {
  /** False for a hub whose stores are its own: there can be no others. */
  readonly shared: boolean;
  readonly peers: ReadonlyMap<string, Peer>;
  /** Jobs of POSTs waiting here that have no lane yet and were not announced to the others. */
  readonly unplaced: Set<string>;
  /** Jobs that POSTs at other hubs wait for, with the time until which this counts. */
  readonly wanted: Map<string, number>;
  /** The hub with a better candidate to which each job was left, and when. */
  readonly left: Map<string, { hub_id: string; at: number }>;
  /** Registrations that wait until another hub has dropped the worker's link, by worker id. */
  readonly dropping: Map<string, () => void>;
  /** Workers that the reconciler did not find alive, and since when. */
  readonly missing: Map<string, number>;
  /** Whether this hub is in the registry, and when it was last found missing there (`storeIsWhole`). */
  readonly registered: { entered: boolean; missed_at: number | null };
  tell(news: HubNews): void;
  /** Jobs are queued that this hub has no lane for. */
  wake(jobs: Iterable<string>): void;
  /** Announces that `job_id` has new events. */
  publish(channel: string): void;
  /** Announces this hub; sent even if no other is known. */
  greet(): void;
  /** Counts the hubs in the registry, and forgets hubs that are neither there nor heard from. */
  found(hub_ids: readonly string[]): void;
  /** Listens to the other hubs from now on. */
  listen(): Promise<void>;
  /** Says goodbye and stops listening. */
  stop(): void;
}

export interface ClusterDeps {
  hub_id: string;
  shared: boolean;
  pubsub: PubSub;
  clock: Clock;
  log: Log;
  /** A message of another hub. */
  hear(message: HubMessage): void;
  /** A new hub has appeared. */
  met(): void;
  /** Messages may have been lost. */
  gap(): void;
}

/** The other hubs, as last heard of. */
function createPeers({ clock, log, met }: Pick<ClusterDeps, "clock" | "log" | "met">) {
  const peers = new Map<string, Peer>();
  const meet = (id: string): Peer => {
    const known = peers.get(id);
    if (known) {
      known.seen_at = clock.monotonic();
      return known;
    }
    const peer: Peer = {
      hub_id: id,
      seen_at: clock.monotonic(),
      best: null,
      told_at: 0,
      left: 0,
    };
    peers.set(id, peer);
    log.info({ hub_id: id }, "another hub has joined");
    met();
    return peer;
  };
  const forget = (id: string) => {
    if (peers.delete(id)) log.info({ hub_id: id }, "another hub has left");
  };
  return {
    peers,
    meet,
    forget,
    found: (hub_ids: readonly string[]) => {
      for (const id of hub_ids) if (!peers.has(id)) meet(id);
      const there = new Set(hub_ids);
      for (const peer of [...peers.values()])
        if (!there.has(peer.hub_id) && clock.monotonic() - peer.seen_at > SILENT_MS)
          forget(peer.hub_id);
    },
  };
}

/** Sends the first requested wake at once; those that follow soon share one message. */
function createWakes(clock: Clock, stopped: AbortSignal, send: (news: HubNews) => void) {
  const to_wake = new Set<string>();
  let waking = false;
  let asked = false;
  const sendWake = () => {
    asked = false;
    const jobs = [...to_wake].slice(0, MAX_WAKE_JOBS);
    for (const job_id of jobs) to_wake.delete(job_id);
    send({ type: "wake", jobs });
    waking = true;
    void clock.sleep(WAKE_EVERY_MS, stopped).then(() => {
      waking = false;
      if (!stopped.aborted && (asked || to_wake.size > 0)) sendWake();
    });
  };
  return (jobs: Iterable<string>) => {
    for (const job_id of jobs) to_wake.add(job_id);
    asked = true;
    if (!waking) sendWake();
  };
}

export function createCluster(deps: ClusterDeps): Cluster {
  const { hub_id, pubsub, clock, log } = deps;
  const stopped = new AbortController();
  const send = (news: HubNews) => pubsub.publish(HUBS_CHANNEL, { ...news, from: hub_id });
  const { peers, meet, forget, found } = createPeers(deps);
  const wake = createWakes(clock, stopped.signal, send);

  const hear = (raw: unknown) => {
    const { success, data: message, error } = HubMessage.safeParse(raw);
    if (!success)
      return log.warn({ err: errorMessage(error).slice(0, 500) }, "skipped a message from a hub");
    if (message.from === hub_id || stopped.signal.aborted) return;
    if (message.type === "bye") return forget(message.from);
    const peer = meet(message.from);
    if (message.type === "candidate") {
      peer.best = message.best;
      peer.told_at = clock.monotonic();
      peer.left = 0;
    }
    deps.hear(message);
  };

  const ends: (() => void)[] = [];
  return {
    shared: deps.shared,
    peers,
    unplaced: new Set(),
    wanted: new Map(),
    left: new Map(),
    dropping: new Map(),
    missing: new Map(),
    registered: { entered: false, missed_at: null },
    tell: (news) => {
      if (peers.size > 0) send(news);
    },
    wake: (jobs) => {
      if (peers.size > 0) wake(jobs);
    },
    publish: (channel) => {
      if (peers.size > 0) pubsub.publish(channel, { from: hub_id });
    },
    greet: () => {
      if (deps.shared) send({ type: "hello" });
    },
    found,
    listen: async () => {
      if (!deps.shared) return;
      ends.push(pubsub.onGap(deps.gap));
      ends.push(await pubsub.subscribe(HUBS_CHANNEL, hear));
    },
    stop: () => {
      if (deps.shared) send({ type: "bye" });
      stopped.abort();
      for (const end of ends) end();
    },
  };
}

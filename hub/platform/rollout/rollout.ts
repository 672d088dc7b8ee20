import type { Changes } from "#hub/platform/changes.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import type { SettingsRepo } from "#hub/platform/db/library-types.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { UpdateOrder, WorkerKind, WorkerUpdate } from "#shared/protocol/schema/updates.ts";
import { type Circumstances, decide, orderOf, type Proofs, type SeenWorker } from "./decide.ts";
import {
  FIRST_STATE,
  type RolloutState,
  readState,
  type StoredState,
  type Turn,
  turnKey,
  writeState,
} from "./state.ts";
import { type RolloutLook, updateOf } from "./view.ts";

/** How often the fleet is checked; orders reach a worker immediately, or with its next heartbeat. */
export const LOOK_EVERY_MS = 2_000;
/** A canary that got no job for this part of its deadline gets one from the hub. */
export const CHECK_AFTER = 0.1;
/** How often a hub records that it looks, and how long a control plane next to it then leaves the decisions to it. */
const HUB_MARK_MS = { every: 60_000, counts: 180_000 };
/** How often to retry a change when another process wrote first. */
const TRIES = 10;

/** One kind of worker, as this process sees it. */
export interface FleetPart {
  readonly kind: WorkerKind;
  /** Its live workers. */
  see(): Promise<SeenWorker[]>;
  /** Whether the canary has shown that its version works; null while that is open. */
  prove(turn: Turn, worker: SeenWorker): Promise<{ ok: boolean; how: string } | null>;
  /** Orders may have changed: workers that are linked here get theirs. */
  tell?(): void;
}

export interface RolloutDeps {
  settings: Pick<SettingsRepo, "find" | "add" | "replace">;
  config: Pick<HubConfig, "mode" | "updates">;
  clock: Clock;
  log: Log;
  changes: Pick<Changes, "touch">;
  /** Version of this process. */
  version: string;
  /**
   * Versions of every live hub.
   * @throws when the hub registry does not answer
   */
  hubVersions(): Promise<string[]>;
}

/** Decides when each worker takes which version, together with every other hub of the fleet. */
export interface Rollout {
  readonly config: HubConfig["updates"];
  look(): RolloutLook;
  /** Which version the worker should have, and whether it is its turn. Null before this process has looked. */
  orderFor(worker: Pick<SeenWorker, "kind" | "worker_id" | "version">): UpdateOrder | null;
  /** Progress of a worker's update; null while it has the version it should have. */
  updateOf(worker: Pick<SeenWorker, "kind" | "worker_id">): WorkerUpdate | null;
  /** One check of the fleet, and what follows from it. */
  pass(): Promise<void>;
  /**
   * Changes the state for an operator.
   * @throws AppError unavailable when other processes keep writing
   */
  change(how: (state: RolloutState) => void): Promise<RolloutState>;
  addPart(part: FleetPart): void;
}

/** A control plane next to hubs sees only half of the fleet. */
const leavesItToHubs = (
  mode: HubConfig["mode"],
  hub_versions: readonly string[],
  { hub_at }: RolloutState,
  now: number,
): boolean =>
  mode === "control" &&
  (hub_versions.length > 0 || (hub_at !== null && now - hub_at < HUB_MARK_MS.counts));

/** What the canaries have proved so far. */
async function proofsOf(
  state: RolloutState,
  workers: readonly SeenWorker[],
  parts: readonly FleetPart[],
): Promise<Proofs> {
  const proofs = new Map<string, { ok: boolean; how: string }>();
  for (const turn of Object.values(state.turns)) {
    if (turn.state !== "proving" || !turn.canary) continue;
    const worker = workers.find((one) => turnKey(one) === turnKey(turn));
    const part = parts.find(({ kind }) => kind === turn.kind);
    const proof = worker && worker.unwell === null ? await part?.prove(turn, worker) : null;
    if (proof) proofs.set(turnKey(turn), proof);
  }
  return proofs;
}

export function createRollout(deps: RolloutDeps): Rollout {
  const { settings, config, clock, log, changes } = deps;
  const parts: FleetPart[] = [];
  const watching_since = clock.now();
  let stored: StoredState = { state: FIRST_STATE, written_at: null };
  let workers: readonly SeenWorker[] = [];
  let hub_versions: readonly string[] = [];
  let looked = false;

  const keep = (next: StoredState) => {
    // Pages need not know that a hub looked.
    const shown = { ...next.state, hub_at: stored.state.hub_at };
    const changed = !Bun.deepEquals(shown, stored.state);
    stored = next;
    if (!changed) return;
    changes.touch("v1/updates");
    changes.touch("workers");
    changes.touch("v1/workers");
    for (const part of parts) part.tell?.();
  };

  const pass = async (): Promise<void> => {
    keep(await readState(settings, log));
    hub_versions = await deps.hubVersions();
    workers = (await Promise.all(parts.map((part) => part.see()))).flat();
    const before = stored;
    const now = clock.now();
    if (!leavesItToHubs(config.mode, hub_versions, before.state, now)) {
      const seen: Circumstances = {
        now,
        watching_since,
        workers,
        ...config.updates,
        hub_versions: hub_versions.length > 0 ? hub_versions : [deps.version],
        kinds: parts.map(({ kind }) => kind),
        proofs: await proofsOf(before.state, workers, parts),
      };
      const { state, news } = decide(before.state, seen);
      if (config.mode !== "control" && now - (state.hub_at ?? 0) > HUB_MARK_MS.every)
        state.hub_at = now;
      if (!Bun.deepEquals(state, before.state)) {
        const written = await writeState(settings, before, state, now);
        // The process that came first has logged it, and all others read it at their next check.
        if (written) for (const { level, message, fields } of news) log[level](fields, message);
        keep(written ?? (await readState(settings, log)));
      }
    }
    if (!looked) for (const part of parts) part.tell?.();
    looked = true;
  };

  return {
    config: config.updates,
    look: () => ({ state: stored.state, workers, hub_versions }),
    orderFor: (worker) => (looked ? orderOf(stored.state, worker) : null),
    updateOf: (named) => {
      const worker = workers.find((one) => turnKey(one) === turnKey(named));
      return updateOf(stored.state, named, worker ?? null);
    },
    pass,
    change: async (how) => {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const before = await readState(settings, log);
        const state = structuredClone(before.state);
        how(state);
        const written = await writeState(settings, before, state, clock.now());
        if (!written) continue;
        keep(written);
        return state;
      }
      throw new AppError("unavailable", "the state of updates is being written by others", {
        headers: { "Retry-After": "1" },
      });
    },
    addPart: (part) => void parts.push(part),
  };
}

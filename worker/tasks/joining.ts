import type { z } from "zod";
import { jittered } from "#shared/kit/backoff.ts";
import type { Log } from "#shared/kit/log.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { RegisteredPull, RegisterPull } from "#shared/protocol/schema/pull.ts";
import { type ControlClient, type ControlClientDeps, createControlClient } from "./client.ts";
import { isRefusal } from "./control-call.ts";
import { readIdentity, writeIdentity } from "./identity.ts";
import type { Outbox } from "./outbox.ts";
import { spoolReports, tellSpooled } from "./spool.ts";

/** More workers than this under derived names on one host point to another problem. */
const MOST_NAMES = 50;
/**
 * A predecessor that died silently is presumed dead within seconds; if the name is still taken then, only a person can
 * help.
 */
const REFUSED_MS = { first: 4_000, first_times: 4, later: 30_000 };

export interface JoiningDeps extends Omit<ControlClientDeps, "incarnation"> {
  /** Nobody chose `worker_id`: when another live worker has it, this one takes a free name derived from it. */
  derived_id?: boolean;
  dir: string;
  random: () => number;
  log: Log;
}

/** Who this process is to its control plane. */
export interface Joining {
  /** Calls under the name that this worker currently has. */
  readonly client: ControlClient;
  /**
   * Reports what a predecessor left behind, then registers. @throws FlotillaError 409 when the name is a live worker's
   */
  register(
    hello: Omit<RegisterPull, "incarnation" | "replaces">,
  ): Promise<z.infer<typeof RegisteredPull>>;
  /** Ms until the next try after the name was refused; null after any other failure. */
  refusedFor(err: unknown): number | null;
  /** Saves what could not be reported. */
  spool(outbox: Outbox): Promise<void>;
}

/** `w123`, `w123-2`, `w123-3` …; `n` counts from 1. */
const nameBeside = (derived: string, n: number): string => (n === 1 ? derived : `${derived}-${n}`);

const isBeside = (worker_id: string, derived: string): boolean =>
  worker_id === derived ||
  (worker_id.startsWith(`${derived}-`) && /^\d+$/.test(worker_id.slice(derived.length + 1)));

const isTaken = (err: unknown): boolean => isRefusal(err) && err.status === 409;

/**
 * The name of a worker and how it gets it. The directory belongs to this process alone, so the previous owner is dead:
 * the newcomer names that incarnation and takes over at once. Another live worker with the name keeps it.
 */
export function createJoining(deps: JoiningDeps): Joining {
  const { control_url, derived_id = false, dir, log } = deps;
  const identity = { ...deps, incarnation: newToken() };
  let client = createControlClient(identity);
  let refusals = 0;
  let before: ReturnType<typeof readIdentity> | null = null;

  const rename = (worker_id: string) => {
    if (worker_id === identity.worker_id) return;
    identity.worker_id = worker_id;
    client = createControlClient(identity);
  };
  const registerHere = async (hello: Parameters<Joining["register"]>[0]) => {
    const predecessor = await before;
    const ours =
      predecessor?.control_url === control_url && predecessor.worker_id === identity.worker_id;
    const replaces = ours ? { replaces: predecessor.incarnation } : {};
    const answer = await client.register({ ...hello, ...replaces }).catch((err) => {
      // A control plane of an earlier version does not know the field.
      if (!ours || !isRefusal(err) || err.status !== 422) throw err;
      return client.register(hello);
    });
    const { worker_id, incarnation } = identity;
    await writeIdentity(dir, { control_url, worker_id, incarnation });
    before = null;
    return answer;
  };
  /** The first numbered variant of the derived name that no live worker has. */
  const registerBeside = async (hello: Parameters<Joining["register"]>[0], taken: unknown) => {
    for (let n = 1; n <= MOST_NAMES; n += 1) {
      rename(nameBeside(deps.worker_id, n));
      try {
        const answer = await registerHere(hello);
        const { worker_id } = identity;
        log.warn({ worker_id, wanted: deps.worker_id }, "another live worker has the name");
        return answer;
      } catch (err) {
        if (!isTaken(err)) throw err;
      }
    }
    throw taken;
  };

  return {
    get client() {
      return client;
    },
    register: async (hello) => {
      before ??= readIdentity(dir);
      const predecessor = await before;
      if (derived_id && predecessor && isBeside(predecessor.worker_id, deps.worker_id))
        rename(predecessor.worker_id);
      await tellSpooled(identity);
      const answer = await registerHere(hello).catch((err) => {
        if (!isTaken(err) || !derived_id) throw err;
        return registerBeside(hello, err);
      });
      refusals = 0;
      return answer;
    },
    refusedFor: (err) => {
      if (!isTaken(err)) return null;
      refusals += 1;
      const { first, first_times, later } = REFUSED_MS;
      return refusals <= first_times ? first : jittered(later, deps.random());
    },
    spool: (outbox) => spoolReports(identity, outbox),
  };
}

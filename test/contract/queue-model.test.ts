import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import type { Claim, QueueOp, Report } from "#hub/platform/db/queue/queue-store.ts";
import { type ModelRef, QueueModel } from "#test/support/models/queue-model.ts";
import {
  BACKOFF,
  eachQueue,
  type QueueRig,
  START,
  task,
} from "#test/support/models/queue-store.ts";

const SEQUENCES = Number(process.env.QUEUE_MODEL_SEQUENCES ?? 1_000);
const STEPS = 14;
const LANES = 4;
const NAMES = ["a", "b", "c", "d", "e"];
const WORKERS = ["w1", "w2", "w3"];
const STATES = ["ready", "claimed", "failed", "delayed"] as const;

/** mulberry32: the same sequence for the same seed, on every machine. */
function randomOf(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

interface Known extends ModelRef {
  task_id: number;
  worker: string;
}

class Sequence {
  readonly model: QueueModel;
  /** Every attempt anybody was ever given: also long after it is over they are reported. */
  readonly known: Known[] = [];
  readonly ids = new Map<number, number>();
  readonly rig: QueueRig;
  readonly workload_id: number;
  readonly random: () => number;
  constructor(rig: QueueRig, workload_id: number, random: () => number) {
    this.rig = rig;
    this.workload_id = workload_id;
    this.random = random;
    this.model = new QueueModel(rig.now);
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)] as T;
  }

  /** An attempt that was given to somebody, mostly a late one; now and then with a worker or epoch that is not its own. */
  anyRef(): Known | null {
    if (this.known.length === 0) return null;
    const ref = this.random() < 0.7 ? (this.known.at(-1) as Known) : this.pick(this.known);
    const forged = this.random();
    if (forged < 0.1) return { ...ref, worker: this.pick(WORKERS) };
    if (forged < 0.15) return { ...ref, epoch: ref.epoch + (this.random() < 0.5 ? 1 : 2) };
    return ref;
  }

  refs(): Known[] {
    const out: Known[] = [];
    for (let n = Math.ceil(this.random() * 3); n > 0; n -= 1) {
      const ref = this.anyRef();
      if (ref) out.push(ref);
    }
    return out;
  }

  op(): { op: QueueOp; check: () => unknown; learn?: (result: unknown) => unknown } {
    const { model, workload_id } = this;
    const kind = this.random();
    const worker = this.pick(WORKERS);
    const mine = () => this.refs().filter((r) => r.worker === worker);
    const refOf = ({ task_id, epoch }: Known) => ({ task_id, epoch });
    const printed = { duration_ms: 1, stdout: "", stderr: "", truncated: false };
    const statuses = (result: unknown) => (result as Report[]).map((r) => r.status);
    if (kind < 0.25) {
      const names = NAMES.filter(() => this.random() < 0.4);
      const tasks = names.map((pk) =>
        task(pk, {
          priority: Math.floor(this.random() * 2),
          max_attempts: 1 + Math.floor(this.random() * 3),
          run_at: this.random() < 0.2 ? model.now + 1_500 : null,
        }),
      );
      return { op: { op: "submit", workload_id, tasks }, check: () => model.submit(tasks) };
    }
    if (kind < 0.5) {
      const max = 1 + Math.floor(this.random() * 3);
      const lease_ms = this.pick([500, 2_000]);
      const timeout_ms = this.pick([null, 1_200]);
      return {
        op: {
          op: "claim",
          worker,
          worker_id: worker,
          workload_id,
          max,
          lease_ms,
          timeout_ms,
          max_in_flight: null,
          rate_limit: null,
        },
        check: () =>
          model.claim(worker, max, lease_ms, timeout_ms).map((t) => {
            this.known.push({ generation: t.generation, epoch: t.epoch, worker, task_id: 0 });
            return [t.pk, t.attempt, t.epoch, t.generation];
          }),
        learn: (result) => {
          const { tasks: claimed } = result as Claim;
          return claimed.map((t, i) => {
            const known = this.known[this.known.length - claimed.length + i] as Known;
            known.task_id = t.task_id;
            const generation = known.generation;
            const before = this.ids.get(generation);
            if (before !== undefined) expect(t.task_id).toBe(before);
            this.ids.set(generation, t.task_id);
            return [t.pk, t.attempt, t.epoch, generation];
          });
        },
      };
    }
    const items = mine();
    if (kind < 0.7)
      return {
        op: {
          op: "complete",
          worker,
          items: items.map((r) => ({ ...refOf(r), ...printed, output: null })),
        },
        check: () => items.map((r) => model.complete(worker, r)),
        learn: statuses,
      };
    if (kind < 0.82) {
      const outcome = this.pick(["error", "crashed"] as const);
      const no_retry = this.random() < 0.2;
      return {
        op: {
          op: "fail",
          worker,
          workload_id,
          backoff: BACKOFF,
          items: items.map((r) => ({
            ...refOf(r),
            ...printed,
            outcome,
            no_retry,
            error: "broke",
            retry_after_ms: null,
          })),
        },
        check: () => items.map((r) => model.fail(worker, r, outcome, no_retry)),
        learn: statuses,
      };
    }
    if (kind < 0.9)
      return {
        op: {
          op: "release",
          worker,
          items: items.map((r) => ({ ...refOf(r), retry_after_ms: null, reason: "" })),
        },
        check: () => items.map((r) => model.release(worker, r)),
        learn: statuses,
      };
    return {
      op: { op: "renew", worker, items: items.map(refOf), lease_ms: 1_000 },
      check: () => items.filter((r) => !model.renew(worker, r, 1_000)).map(refOf),
    };
  }

  /** One to three calls in one transaction. A claim's tasks are known to later turns only, so it comes once. */
  async turn(): Promise<void> {
    const calls = [this.op()];
    while (this.random() < 0.4 && calls.length < 3) calls.push(this.op());
    const order = ["complete", "fail", "release", "submit", "renew", "claim"];
    calls.sort((a, b) => order.indexOf(a.op.op) - order.indexOf(b.op.op));
    const claims = calls.filter((c) => c.op.op === "claim");
    // Of one workload and turn the limits of the first claim hold for all.
    const used = calls.filter((c) => c.op.op !== "claim" || c === claims[0]);
    const results = await this.rig.store.flush(used.map((c) => c.op));
    for (const [i, call] of used.entries()) {
      const expected = call.check();
      expect(call.learn ? call.learn(results[i]) : results[i]).toEqual(expected as never);
    }
  }

  async step(): Promise<void> {
    const { rig, model, workload_id } = this;
    const kind = this.random();
    if (kind < 0.66) return this.turn();
    if (kind < 0.78) {
      const ms = this.pick([1, 400, 1_000, 2_001]);
      model.now += ms;
      return rig.advance(ms);
    }
    if (kind < 0.86) {
      const expired = (await rig.store.expire(1_000)).map((t) => `${t.task_id}:${t.epoch}`);
      const expected = model.expire().map((r) => `${this.ids.get(r.generation)}:${r.epoch}`);
      return expect(expired.sort()).toEqual(expected.sort());
    }
    if (kind < 0.93)
      return expect((await rig.store.promote(1_000)).get(workload_id) ?? 0).toBe(model.promote());
    if (kind < 0.97) {
      const pk = this.pick(NAMES);
      return expect((await rig.store.cancel(workload_id, pk)) !== null).toBe(model.cancel(pk));
    }
    expect(await rig.store.resetFailed(workload_id, 1_000)).toBe(model.resetFailed());
  }

  /** The database holds what the model holds, and keeps the promises that no single step shows. */
  async compare(): Promise<void> {
    const { rig, model, workload_id } = this;
    const rows = await rig.store.peek(workload_id, [0, 1, 2, 3], 1_000, 0);
    const shown = rows.map((r) => [r.pk, STATES[r.state], r.attempt]);
    const tasks = [...model.tasks.values()].sort((a, b) => a.generation - b.generation);
    expect(shown).toEqual(tasks.map((t) => [t.pk, t.state, t.attempt]));

    const { runs } = rig.conn.t;
    const stored = await rig.conn.q.select().from(runs).where(eq(runs.workload_id, workload_id));
    const keyed = stored.map((r) => `${r.pk} ${r.attempt} ${r.epoch} ${RUN_OUTCOMES[r.outcome]}`);
    const expected = model.runs.map((r) => `${r.pk} ${r.attempt} ${r.epoch} ${r.outcome}`);
    expect(keyed.sort()).toEqual(expected.sort());

    const attempts = new Set(stored.map((r) => `${r.task_id}:${r.epoch}`));
    expect(attempts.size).toBe(stored.length);
    const successes = stored.filter((r) => r.outcome === 0).map((r) => r.task_id);
    expect(new Set(successes).size).toBe(successes.length);

    const [row] = await rig.store.counts(workload_id);
    const of = (state: string) => tasks.filter((t) => t.state === state).length;
    const { ready = 0, claimed = 0, failed = 0, delayed = 0 } = row ?? {};
    expect({ ready, claimed, failed, delayed }).toEqual({
      ready: of("ready"),
      claimed: of("claimed"),
      failed: of("failed"),
      delayed: of("delayed"),
    });
  }
}

async function runSequence(rig: QueueRig, seed: number, dialect: string): Promise<void> {
  const workload_id = await rig.addWorkload(`s${seed}`);
  const sequence = new Sequence(rig, workload_id, randomOf(seed));
  try {
    for (let step = 0; step < STEPS; step += 1) await sequence.step();
    await sequence.compare();
  } catch (err) {
    throw new Error(`seed ${seed} on ${dialect}: ${err instanceof Error ? err.message : err}`);
  }
  // What is left would expire in the middle of the next sequence.
  for (const pk of sequence.model.tasks.keys()) await rig.store.cancel(workload_id, pk);
}

eachQueue((open, dialect) => {
  describe("any order of queue operations agrees with the model", () => {
    test(`${SEQUENCES} seeded sequences`, async () => {
      const rigs: QueueRig[] = [];
      for (let lane = 0; lane < LANES; lane += 1) rigs.push(await open({ own_database: true }));
      // Together they fill the time that one alone would wait for its database.
      await Promise.all(
        rigs.map(async (rig, lane) => {
          expect(rig.now).toBe(START);
          for (let seed = 1 + lane; seed <= SEQUENCES; seed += LANES)
            await runSequence(rig, seed, dialect);
        }),
      );
    }, 180_000);
  });
});

import { MAX_CRASHES } from "#hub/platform/db/queue/queue-store.ts";

/** What a run row must say; `ref` names its attempt. */
export interface ModelRun {
  pk: string;
  generation: number;
  attempt: number;
  epoch: number;
  outcome: "success" | "error" | "timeout" | "lease_expired" | "crashed" | "cancelled";
}

export interface ModelTask {
  pk: string;
  /** How many tasks the model ever made: the order of their ids. */
  generation: number;
  state: "ready" | "claimed" | "failed" | "delayed";
  attempt: number;
  crashes: number;
  epoch: number;
  worker: string | null;
  run_at: number;
  lease_until: number;
  deadline: number;
  priority: number;
  max_attempts: number;
}

/** An attempt as its worker remembers it, forever. */
export interface ModelRef {
  generation: number;
  epoch: number;
}

const WAIT_MS = 1_000;

/** The queue's rules in plain memory, one step after the other; the test compares the databases with it. */
export class QueueModel {
  now: number;
  readonly tasks = new Map<string, ModelTask>();
  readonly runs: ModelRun[] = [];
  #made = 0;

  constructor(now: number) {
    this.now = now;
  }

  submit(pks: { pk: string; priority: number; max_attempts: number; run_at: number | null }[]) {
    let submitted = 0;
    for (const { pk, priority, max_attempts, run_at } of pks) {
      if (this.tasks.has(pk)) continue;
      submitted += 1;
      this.tasks.set(pk, {
        pk,
        priority,
        max_attempts,
        attempt: 0,
        crashes: 0,
        epoch: 0,
        worker: null,
        generation: ++this.#made,
        state: run_at !== null && run_at > this.now ? "delayed" : "ready",
        run_at: run_at ?? this.now,
        lease_until: 0,
        deadline: Number.POSITIVE_INFINITY,
      });
    }
    return { submitted, duplicates: pks.length - submitted };
  }

  claim(worker: string, max: number, lease_ms: number, timeout_ms: number | null): ModelTask[] {
    const ready = [...this.tasks.values()].filter((t) => t.state === "ready");
    ready.sort((a, b) => b.priority - a.priority || a.generation - b.generation);
    return ready.slice(0, max).map((t) => {
      t.state = "claimed";
      t.attempt += 1;
      t.epoch += 1;
      t.worker = worker;
      t.deadline = timeout_ms === null ? Number.POSITIVE_INFINITY : this.now + timeout_ms;
      t.lease_until = Math.min(this.now + lease_ms, t.deadline);
      return { ...t };
    });
  }

  #held(worker: string, ref: ModelRef): ModelTask | undefined {
    return [...this.tasks.values()].find(
      (t) =>
        t.generation === ref.generation &&
        t.epoch === ref.epoch &&
        t.state === "claimed" &&
        t.worker === worker,
    );
  }

  #record(t: ModelTask, outcome: ModelRun["outcome"]): void {
    const { pk, generation, attempt, epoch } = t;
    this.runs.push({ pk, generation, attempt, epoch, outcome });
  }

  #again(ref: ModelRef, success: boolean): "ok" | "stale" {
    const run = this.runs.find((r) => r.generation === ref.generation && r.epoch === ref.epoch);
    const reported = run && ["success", "error", "timeout", "crashed"].includes(run.outcome);
    return reported && (run.outcome === "success") === success ? "ok" : "stale";
  }

  complete(worker: string, ref: ModelRef): "ok" | "stale" {
    const t = this.#held(worker, ref);
    if (!t) return this.#again(ref, true);
    this.#record(t, "success");
    this.tasks.delete(t.pk);
    return "ok";
  }

  fail(worker: string, ref: ModelRef, outcome: "error" | "crashed", no_retry: boolean) {
    const t = this.#held(worker, ref);
    if (!t) return this.#again(ref, false);
    this.#record(t, outcome);
    this.#giveBack(t, outcome === "crashed", no_retry);
    return "ok" as const;
  }

  #giveBack(t: ModelTask, crashed: boolean, no_retry: boolean): void {
    if (crashed) t.crashes += 1;
    const final = no_retry || t.attempt >= t.max_attempts || t.crashes >= MAX_CRASHES;
    t.state = final ? "failed" : "delayed";
    t.run_at = this.now + (final ? 0 : WAIT_MS);
    t.epoch += 1;
    t.worker = null;
  }

  release(worker: string, ref: ModelRef): "ok" | "stale" {
    const t = this.#held(worker, ref);
    if (!t) return "stale";
    Object.assign(t, { state: "ready", attempt: t.attempt - 1, epoch: t.epoch + 1, worker: null });
    return "ok";
  }

  /** True when the lease holds. */
  renew(worker: string, ref: ModelRef, lease_ms: number): boolean {
    const t = this.#held(worker, ref);
    if (t) t.lease_until = Math.min(this.now + lease_ms, t.deadline);
    return t !== undefined;
  }

  expire(): ModelRef[] {
    const dead = [...this.tasks.values()].filter(
      (t) => t.state === "claimed" && t.lease_until < this.now,
    );
    return dead.map((t) => {
      const ref = { generation: t.generation, epoch: t.epoch };
      this.#record(t, t.deadline <= this.now ? "timeout" : "lease_expired");
      this.#giveBack(t, true, false);
      return ref;
    });
  }

  promote(): number {
    const due = [...this.tasks.values()].filter(
      (t) => t.state === "delayed" && t.run_at <= this.now,
    );
    for (const t of due) t.state = "ready";
    return due.length;
  }

  cancel(pk: string): boolean {
    const t = this.tasks.get(pk);
    if (!t) return false;
    if (t.state === "claimed") this.#record(t, "cancelled");
    return this.tasks.delete(pk);
  }

  resetFailed(): number {
    const failed = [...this.tasks.values()].filter((t) => t.state === "failed");
    for (const t of failed) Object.assign(t, { state: "ready", attempt: 0, crashes: 0 });
    return failed.length;
  }
}

import type { Log } from "#shared/kit/log.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { BROKEN_MS, type BrokenExecutors } from "./broken-executors.ts";
import { isRefusal } from "./control-call.ts";
import type { Joining } from "./joining.ts";
import type { Life } from "./life.ts";
import type { Membership } from "./membership.ts";
import type { Outbox, Sending } from "./outbox.ts";
import type { Slots } from "./slots.ts";

export interface ExchangeDeps {
  joining: Joining;
  membership: Membership;
  life: Life;
  slots: Slots;
  outbox: Outbox;
  broken: BrokenExecutors;
  /** What the control plane has reported about each workload. */
  settings: Map<string, WorkloadSettings>;
  /** Sends a heartbeat when it is asked for. */
  leases: { beatNow(): void };
  log: Log;
}

/** How long the control plane may hold a claim until there is work. */
const WAIT_MS = 20_000;

/** Statuses that blame the call itself: sending it again would change nothing. */
const FAULTY = new Set([400, 413, 422]);

/** Reports and claims until the worker stops and has reported everything, or is gone. */
export async function exchangeUntilStopped(deps: ExchangeDeps): Promise<void> {
  const quiet = (work: Promise<void>) => work.catch(() => {});
  await Promise.all([quiet(report(deps)), quiet(poll(deps))]);
}

/** Reports what ended and fills the slots that this freed. Never waits for work. */
async function report(deps: ExchangeDeps): Promise<void> {
  const { membership, life, slots, outbox } = deps;
  await membership.register();
  while (!life.gone.aborted) {
    if (outbox.size > 0) {
      await membership.persist("a report", () =>
        exchange(deps, life.stopping.aborted ? 0 : slots.free(), 0),
      );
      life.changed();
      continue;
    }
    if (life.stopping.aborted && !slots.busy()) return;
    await life.nextChange();
  }
}

/** Waits for work with every slot that has none. */
async function poll(deps: ExchangeDeps): Promise<void> {
  const { membership, life, slots, outbox, broken } = deps;
  await membership.register();
  while (!life.stopping.aborted) {
    if (slots.free() === 0 || outbox.size > 0) {
      await life.nextChange();
      continue;
    }
    const wait_ms = broken.excluded().length > 0 ? BROKEN_MS.first : WAIT_MS;
    await membership.persist("a claim", async () => {
      if (outbox.size === 0) await exchange(deps, slots.free(), wait_ms);
    });
  }
}

/** One call: what waits to be reported, and a claim for `n` batches that is held for at most `wait_ms`. */
async function exchange(deps: ExchangeDeps, n: number, wait_ms: number): Promise<void> {
  const { slots, outbox, settings, broken, log } = deps;
  const want = {
    slots: n,
    wait_ms,
    exclude: broken.excluded(),
    known: Object.fromEntries([...settings].map(([slug, { revision }]) => [slug, revision])),
  };
  // Taken before the call leaves, so that no other claim uses them.
  slots.hold(n);
  const sending = outbox.take();
  const asked_at = performance.now();
  try {
    const answer = await deps.joining.client.exchange({ ...sending.body, want }, wait_ms);
    outbox.sent();
    for (const workload of answer.workloads) settings.set(workload.slug, workload);
    for (const { task_id, epoch, status } of answer.results)
      if (status === "stale") log.warn({ task_id, epoch }, "a report came too late");
    slots.release(n - answer.batches.length);
    if (answer.beat) deps.leases.beatNow();
    // A lease that is shorter than the wait would seem to be over when it comes.
    for (const batch of answer.batches) slots.begin(batch, asked_at + (batch.waited_ms ?? 0));
  } catch (err) {
    slots.release(n);
    onRefusal(deps, sending, err);
  }
}

/** @throws what happened to the call, unless a report in it is at fault, which goes another way. */
function onRefusal({ outbox, log }: ExchangeDeps, sending: Sending, err: unknown): void {
  const faulty = isRefusal(err) && FAULTY.has(err.status);
  if (!faulty || sending.entries.length === 0) {
    outbox.putBack(sending);
    throw err;
  }
  const lost = outbox.refused(sending, err.message);
  if (!lost) return;
  const { workload, item } = lost;
  log.error({ workload, ...item, err: err.message }, "the control plane refused a report for good");
}

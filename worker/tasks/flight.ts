import type { Ref } from "./client.ts";

/** A task this worker holds. */
interface Held extends Ref {
  workload: string;
  lease_ms: number;
  /** On the clock of `performance.now()`: from here on another worker may have it. */
  until: number;
  stop: AbortController;
}

/** How long before its lease ends a task is stopped: its processes need time to go. */
const marginOf = (lease_ms: number): number =>
  Math.min(lease_ms / 2, Math.max(lease_ms * 0.2, 2_000));

/**
 * The tasks in flight with the end of their leases as this worker may assume it: counted from when the request left, so
 * a slow answer makes leases shorter and never longer. A task is stopped before its lease ends if that was not renewed.
 */
export function createFlight(now: () => number = () => performance.now()) {
  const held = new Map<string, Held>();
  const keyOf = ({ task_id, epoch }: Ref) => `${task_id}:${epoch}`;
  return {
    add: (
      ref: Ref,
      workload: string,
      lease_ms: number,
      asked_at: number,
      stop: AbortController,
    ) => {
      const { task_id, epoch } = ref;
      const until = asked_at + lease_ms;
      held.set(keyOf(ref), { task_id, epoch, workload, lease_ms, until, stop });
    },
    remove: (ref: Ref) => void held.delete(keyOf(ref)),
    has: (ref: Ref) => held.has(keyOf(ref)),
    size: () => held.size,
    list: () =>
      [...held.values()].map(({ task_id, epoch, workload }) => ({ task_id, epoch, workload })),
    /** The shortest lease; it is renewed three times before it ends. */
    shortestLease: () => Math.min(...[...held.values()].map((h) => h.lease_ms)),
    /** A heartbeat that left at `asked_at` renewed all of `refs`. */
    renewed: (refs: readonly Ref[], asked_at: number) => {
      for (const ref of refs) {
        const one = held.get(keyOf(ref));
        if (one) one.until = asked_at + one.lease_ms;
      }
    },
    /** Stops these tasks and forgets them: they belong to another worker, or soon will. */
    lose: (refs: readonly Ref[], reason: string) => {
      for (const ref of refs) {
        held.get(keyOf(ref))?.stop.abort(new Error(reason));
        held.delete(keyOf(ref));
      }
    },
    /** Those whose lease is about to end without a renewal. */
    overdue: (): Ref[] => [...held.values()].filter((h) => now() >= h.until - marginOf(h.lease_ms)),
    stopAll: (reason: string) => {
      for (const { stop } of held.values()) stop.abort(new Error(reason));
    },
  };
}
export type Flight = ReturnType<typeof createFlight>;

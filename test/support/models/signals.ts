import type { Signal } from "#hub/fleet/context.ts";
import { createQueue } from "./queue.ts";

/** The hub's invisible moments, for a test to wait on: `next("lane freed")` instead of a sleep. */
export interface Signals {
  emit(name: Signal, data: Record<string, unknown>): void;
  /** The first one of that name not yet taken whose data has these values, now or when it comes. */
  next(name: Signal, data?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Forgets every one so far. */
  clear(): void;
}

export function createSignals(): Signals {
  const queue = createQueue<{ name: Signal; data: Record<string, unknown> }>();
  return {
    emit: (name, data) => queue.push({ name, data }),
    next: async (name, data = {}) => {
      const found = await queue.next(
        (s) => s.name === name && Object.entries(data).every(([k, v]) => s.data[k] === v),
      );
      return found.data;
    },
    clear: queue.clear,
  };
}

import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import type { Flight } from "./flight.ts";
import type { Joining } from "./joining.ts";
import type { Life } from "./life.ts";
import type { Outbox } from "./outbox.ts";
import type { Slots } from "./slots.ts";

/** Time to end the tasks that are left when the drain is over. */
const STOP_MS = 15_000;
/** Time to say goodbye to a control plane that may be away. */
const LEAVE_MS = 1_000;

export interface DrainDeps {
  clock: Clock;
  life: Life;
  joining: Joining;
  slots: Slots;
  flight: Flight;
  outbox: Outbox;
  /** Resolves when everything is reported, or when the worker is gone. */
  working: Promise<unknown>;
}

/** Lets running tasks end within `drain_ms`, stops the others, and reports their outcome while it can. */
export async function drain(deps: DrainDeps, drain_ms: number): Promise<void> {
  const { clock, life, joining, slots, flight, working } = deps;
  life.stop();
  // Not awaited: if nobody answers, the tasks use the time.
  void joining.client.drain().catch(() => {});
  const idle = slots.idle();
  if (!(await endsWithin(clock, drain_ms, idle))) {
    flight.stopAll("the worker is stopping");
    await endsWithin(clock, STOP_MS, idle);
  }
  life.changed();
  await endsWithin(clock, STOP_MS, working);
  await leave(deps);
  life.end();
  await working;
}

/** Frees the name for the next process; a worker that could not report everything keeps its name for that. */
async function leave({ clock, joining, slots, outbox }: DrainDeps): Promise<void> {
  if (outbox.size > 0 || slots.busy()) return;
  const told = joining.client.drain(true).catch(() => {});
  await endsWithin(clock, LEAVE_MS, told);
}

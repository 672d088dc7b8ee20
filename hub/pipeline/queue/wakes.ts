import { z } from "zod";
import type { Db } from "#hub/platform/db/storage.ts";
import type { PubSub } from "#hub/platform/stores/pubsub.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { Pipeline } from "../context.ts";
import { lookAgain } from "./ready-hints.ts";
import type { Wakes } from "./wake-calls.ts";

/** What one control process tells the others on the same database, so that they need not wait for their next look. */
const Told = z.discriminatedUnion("what", [
  /** Workloads with new tasks, each with how many; null: unknown. */
  z.object({
    what: z.literal("ready"),
    from: z.string(),
    ready: z.array(z.tuple([z.number(), z.number().nullable()])),
  }),
  /** Workloads with a limit on claimed tasks that now have fewer claimed: how many fewer. */
  z.object({
    what: z.literal("freed"),
    from: z.string(),
    freed: z.array(z.tuple([z.number(), z.number()])),
  }),
  z.object({ what: z.literal("workloads"), from: z.string() }),
  /** The worker registered, drains, received a command, or may now run other workloads. */
  z.object({ what: z.literal("worker"), from: z.string(), worker_id: z.string() }),
]);
type Told = z.infer<typeof Told>;

const CHANNEL = "pipeline";
/** Many submits in a row are announced together, the first of them immediately. */
const TELL_EVERY_MS = 20;

export interface WakesDeps {
  pubsub: PubSub;
  clock: Clock;
  log: Log;
  db: Pick<Db, "pull_workers">;
  pipeline: Pick<Pipeline, "ready" | "workloads" | "pullers">;
}

/** Hears the others until the scope ends. */
export async function startWakes(deps: WakesDeps, scope: Scope): Promise<Wakes> {
  const { pubsub, clock, log } = deps;
  const from = newToken();
  const stopping = new AbortController();
  const ready = new Map<number, number>();
  const freed = new Map<number, number>();
  let telling = false;

  const tell = (told: Told) => pubsub.publish(CHANNEL, told);
  const tellCounts = async (): Promise<void> => {
    telling = true;
    while (ready.size + freed.size > 0 && !stopping.signal.aborted) {
      if (ready.size > 0) {
        const some = [...ready].map(([id, n]): [number, number | null] => [
          id,
          Number.isFinite(n) ? n : null,
        ]);
        tell({ what: "ready", from, ready: some });
      }
      if (freed.size > 0) tell({ what: "freed", from, freed: [...freed] });
      ready.clear();
      freed.clear();
      await clock.sleep(TELL_EVERY_MS, stopping.signal);
    }
    telling = false;
  };
  const count = (counts: Map<number, number>, workload_id: number, n: number) => {
    counts.set(workload_id, (counts.get(workload_id) ?? 0) + n);
    if (!telling) void tellCounts();
  };
  const stop = await pubsub.subscribe(CHANNEL, (message) => {
    const { data } = Told.safeParse(message);
    if (!data || data.from === from) return;
    hear(deps, data).catch((err) =>
      log.warn({ err: errorMessage(err) }, "could not handle a wake-up"),
    );
  });
  scope.add("wake-ups of the pipeline", stop, (unsubscribe) => {
    stopping.abort();
    unsubscribe();
  });
  return {
    ready: (workload_id, n) => count(ready, workload_id, n),
    freed: (workload_id, n) => count(freed, workload_id, n),
    workloads: () => tell({ what: "workloads", from }),
    worker: (worker_id) => tell({ what: "worker", from, worker_id }),
  };
}

async function hear({ pipeline, db }: WakesDeps, told: Told): Promise<void> {
  const { ready, workloads, pullers } = pipeline;
  if (told.what === "worker") {
    // Nothing is known about a worker that never called here, and nothing waits.
    if (!pullers.has(told.worker_id)) return;
    const row = await db.pull_workers.get(told.worker_id);
    if (row) pullers.set(told.worker_id, row);
    else pullers.delete(told.worker_id);
    // Its claims, and polls of its settings, which find a command in the shared store.
    return ready.nudge();
  }
  if (told.what === "workloads") {
    await workloads.refresh();
    // A workload may have been switched on or have new limits; the claims find out which.
    for (const { workload_id, enabled } of workloads.all())
      if (enabled) lookAgain(ready, workload_id);
    return;
  }
  if (told.what === "freed") {
    for (const [id, places] of told.freed) ready.open(id, places);
    return;
  }
  // It may have just been created, and the message about it may have been lost.
  if (told.ready.some(([id]) => !workloads.byId(id))) await workloads.refresh();
  for (const [id, n] of told.ready) ready.add(id, n ?? Number.POSITIVE_INFINITY);
}

/** Reads what other control processes wrote about the workers that this one knows, and forgets those that are gone. */
export async function lookAtPullersOnce(
  db: Pick<Db, "pull_workers">,
  { pullers, ready }: Pick<Pipeline, "pullers" | "ready">,
): Promise<void> {
  if (pullers.size === 0) return;
  const known = new Map(pullers);
  const rows = new Map((await db.pull_workers.list()).map((row) => [row.worker_id, row]));
  let changed = false;
  for (const [worker_id, before] of known) {
    // Written here since then, so it is newer than what was read.
    if (pullers.get(worker_id) !== before) continue;
    const row = rows.get(worker_id);
    if (row) pullers.set(worker_id, row);
    else pullers.delete(worker_id);
    changed ||= row?.draining !== before.draining || row?.incarnation !== before.incarnation;
  }
  if (changed) ready.nudge();
}

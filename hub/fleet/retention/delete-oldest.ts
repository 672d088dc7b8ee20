import { errorMessage } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";

/** Rows read at a time. */
export const RETENTION_BATCH = 100;

/** Failures of one pass that the log has one by one; all of them are counted. */
const LOGGED = 20;

/** What could not be deleted, and stays until a later pass. */
interface Stuck {
  what: "job" | "recording" | "session trace";
  id: string;
  reason: string;
}

/** One look at everything that retention deletes (rules/jobs#retention). */
export interface RetentionPass {
  /** False: it is another hub's turn by now, or this hub stops. */
  goesOn(): Promise<boolean>;
  /** How much could not be deleted, and the first of it. */
  failed: number;
  first_failed: Stuck | null;
}

export const newPass = (goesOn: RetentionPass["goesOn"] = async () => true): RetentionPass => ({
  goesOn,
  failed: 0,
  first_failed: null,
});

type FailureContext = Pick<FleetContext, "log" | "meters" | "stores_health">;

/**
 * Deletes one thing. Where that fails it is left for the next pass, because what is broken must not keep all that lies
 * behind it; where a store is away nothing can be deleted, and what is younger must not go in its place.
 * @returns whether it is deleted
 * @throws what kept it from being deleted, while a store takes nothing
 */
export async function deleteOne(
  { log, meters, stores_health }: FailureContext,
  pass: RetentionPass,
  { what, id }: Pick<Stuck, "what" | "id">,
  remove: () => Promise<void>,
): Promise<boolean> {
  try {
    await remove();
    return true;
  } catch (err) {
    meters.retention_failed.inc({ what });
    pass.failed += 1;
    pass.first_failed ??= { what, id, reason: errorMessage(err) };
    if (pass.failed <= LOGGED)
      log.warn({ what, id, err }, "retention could not delete this; the next pass tries again");
    const away = (await stores_health.degraded()).some(
      ({ part }) => part === "database" || part === "object_store",
    );
    if (away) throw err;
    return false;
  }
}

/** Up to which bound the oldest go. */
export interface Excess<Row> {
  /** What is too much; absent: all that is read goes. */
  readonly over?: number | undefined;
  /** What the end of a row takes away from what is over. */
  readonly shareOf?: ((row: Row) => number) | undefined;
}

/** What is deleted, the oldest first. */
interface Oldest<Row> extends Excess<Row> {
  readonly what: Stuck["what"];
  idOf(row: Row): string;
  /** At most RETENTION_BATCH rows, those that come behind `after`. */
  read(after: Row | undefined): Promise<Row[]>;
  remove(row: Row): Promise<void>;
}

/**
 * Deletes the oldest until nothing is over. Before each of them it asks whether the pass goes on: one alone may have
 * thousands of objects in a slow store, and a hundred take longer than a hub's turn.
 * @returns how many were deleted
 * @throws as `deleteOne`
 */
export async function deleteOldest<Row>(
  ctx: FailureContext,
  pass: RetentionPass,
  oldest: Oldest<Row>,
): Promise<number> {
  const { what, over = Number.POSITIVE_INFINITY } = oldest;
  let left = over;
  let deleted = 0;
  let after: Row | undefined;
  while (left > 0) {
    const rows = await oldest.read(after);
    for (const row of rows) {
      if (left <= 0 || !(await pass.goesOn())) return deleted;
      after = row;
      const one = { what, id: oldest.idOf(row) };
      if (!(await deleteOne(ctx, pass, one, () => oldest.remove(row)))) continue;
      left -= oldest.shareOf?.(row) ?? 0;
      deleted += 1;
    }
    if (rows.length < RETENTION_BATCH) break;
  }
  return deleted;
}

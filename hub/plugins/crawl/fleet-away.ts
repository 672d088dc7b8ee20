import { FlotillaError } from "#shared/client/errors.ts";
import { retryLater } from "./context.ts";

/** Without a hub a task waits. */
const NO_HUB_S = 10;

/** Whether the hub could not be asked, or asks to be left alone for now: nothing is wrong with the task. */
export const isFleetAway = (err: unknown): boolean =>
  err instanceof FlotillaError && (err.status === 0 || err.status === 429 || err.status >= 500);

/** @throws so that the task waits and keeps its attempt, while the fleet is away; otherwise what `work` throws */
export async function waitsForFleet<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (err) {
    if (!isFleetAway(err)) throw err;
    throw retryLater(NO_HUB_S, `the fleet cannot run a job now: ${String(err)}`);
  }
}

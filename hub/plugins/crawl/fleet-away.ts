import { FlotillaError } from "#shared/client/errors.ts";
import { retryLater } from "./context.ts";

/** Without a hub a task waits. */
const NO_HUB_S = 10;

/** The plugin's store is reached through the runner, whose errors are known by their name: the plugin is a file of its own. */
const isStoreError = (err: unknown): err is Error & { status: number } =>
  err instanceof Error && err.name === "StoreError" && "status" in err;

/** Whether the hub could not be asked, or asks to be left alone for now: nothing is wrong with the task. */
export const isFleetAway = (err: unknown): boolean =>
  (err instanceof FlotillaError || isStoreError(err)) &&
  (err.status === 0 || err.status === 429 || err.status >= 500);

/** @throws so that the task waits and keeps its attempt, while the hub is away; otherwise what `work` throws */
export async function waitsForFleet<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (err) {
    if (!isFleetAway(err)) throw err;
    throw retryLater(NO_HUB_S, `the hub cannot be asked now: ${String(err)}`);
  }
}

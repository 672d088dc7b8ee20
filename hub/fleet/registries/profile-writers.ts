import { AppError, conflict, errorMessage } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { FleetContext } from "../context.ts";

/** One writer per profile name in the whole fleet: the name is taken in the shared store. */

const MAX_WRITERS = 8;
/** How long a hub that died while writing still holds the name. */
const HELD_MS = 60_000;
const RENEW_MS = 20_000;

const keyOf = (name: string) => `profile-writer:${name}`;

/**
 * Makes the caller the one writer of a profile; `writer` names it for `isWriter`. Call the result when done.
 * @throws AppError conflict while another writes it, at this hub or another; unavailable while too many are written here, or
 *   when the shared store does not answer.
 */
export async function beginWriting(
  ctx: Pick<FleetContext, "profile_writers" | "hub_id" | "kv" | "log" | "clock">,
  name: string,
  writer: string,
): Promise<() => Promise<void>> {
  const { profile_writers } = ctx;
  if (profile_writers.has(name)) throw beingWritten(name);
  if (profile_writers.size >= MAX_WRITERS)
    throw unavailable(`${MAX_WRITERS} profiles are being written; try again later`);
  // At once, so that no second call of this hub asks the store.
  profile_writers.set(name, writer);
  const value = { hub_id: ctx.hub_id, token: newToken() };
  try {
    if (!(await ctx.kv.setIfAbsent(keyOf(name), value, HELD_MS))) throw beingWritten(name);
  } catch (err) {
    profile_writers.delete(name);
    throw err instanceof AppError ? err : unavailable("the shared store does not answer", err);
  }
  const over = new AbortController();
  void renew(ctx, name, value, over.signal);
  return async () => {
    over.abort();
    profile_writers.delete(name);
    await ctx.kv
      .deleteIf(keyOf(name), value)
      .catch((err) => ctx.log.warn({ name, err: errorMessage(err) }, "profile name not released"));
  };
}

export const isWriter = (
  ctx: Pick<FleetContext, "profile_writers">,
  name: string,
  writer: string,
): boolean => ctx.profile_writers.get(name) === writer;

const beingWritten = (name: string) => conflict(`profile ${name} is being written`);

const unavailable = (detail: string, cause?: unknown) =>
  new AppError("unavailable", detail, { headers: { "Retry-After": "10" }, cause });

/** Writes the name again when the store has lost it. */
async function renew(
  { kv, clock, log }: Pick<FleetContext, "kv" | "clock" | "log">,
  name: string,
  value: Record<string, string>,
  over: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(RENEW_MS, over);
    if (over.aborted) return;
    try {
      if (!(await kv.touch(keyOf(name), HELD_MS)))
        await kv.setIfAbsent(keyOf(name), value, HELD_MS);
    } catch (err) {
      log.warn({ name, err: errorMessage(err) }, "profile name not renewed");
    }
  }
}

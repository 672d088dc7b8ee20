import { counted } from "#shared/kit/words.ts";
import type { FleetContext } from "../context.ts";
import type { RetentionPass } from "./delete-oldest.ts";

/** One hub deletes, and every hub tells of what it could not (rules/figures#problems). */
const KEY = "stuck:retention";
const MAX_REASON = 300;

export interface StuckReport {
  /** Epoch ms of the first of the passes in a row that left something. */
  since: number;
  detail: string;
}

/** Keeps what a pass left for `ttl_ms`, which the next pass renews. */
export async function reportStuck(
  { kv, clock }: Pick<FleetContext, "kv" | "clock">,
  { failed, first_failed }: RetentionPass,
  ttl_ms: number,
): Promise<void> {
  if (first_failed === null) return kv.delete(KEY);
  const before = await kv.get<StuckReport>(KEY);
  const { what, id, reason } = first_failed;
  const others = failed > 1 ? ` and ${counted(failed - 1, "other")}` : "";
  const report: StuckReport = {
    since: before?.since ?? clock.now(),
    detail: `${what} ${id}${others}: ${reason.slice(0, MAX_REASON)}; the hub tries again every minute`,
  };
  await kv.set(KEY, report, ttl_ms);
}

/** What the last pass left; null: nothing, or the shared store does not answer. */
export const readStuck = ({ kv }: Pick<FleetContext, "kv">): Promise<StuckReport | null> =>
  kv.get<StuckReport>(KEY).catch(() => null);

import type { ConventionRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { Convention, PutConvention } from "#shared/protocol/schema/convention.ts";
import type { FleetContext } from "../context.ts";
import { removeRow, rowOf, writableSlug } from "./slugs.ts";

const conventionRecord = (row: ConventionRow): Convention => ({
  ...row,
  created_at: isoTime(row.created_at),
  updated_at: isoTime(row.updated_at),
});

export const listConventions = async (ctx: FleetContext): Promise<Convention[]> =>
  (await ctx.db.conventions.list()).map(conventionRecord);

/** @throws AppError not_found. */
export const getConvention = async (ctx: FleetContext, slug: string): Promise<Convention> =>
  conventionRecord(await rowOf(ctx.db.conventions, slug, "convention"));

/** @throws AppError invalid for what is no slug. */
export async function putConvention(
  ctx: FleetContext,
  raw: string,
  input: PutConvention,
): Promise<Convention> {
  const { slug: given, ...convention } = input;
  const slug = writableSlug(raw, given);
  const now = ctx.clock.now();
  return conventionRecord(
    await ctx.db.conventions.put({ ...convention, slug, created_at: now, updated_at: now }),
  );
}

/** @throws AppError not_found. */
export const deleteConvention = (ctx: FleetContext, slug: string): Promise<void> =>
  removeRow(ctx.db.conventions, slug, "convention");

/** The house rules a planner is given, by slug. */
export const enabledConventions = (ctx: Pick<FleetContext, "db">): Promise<ConventionRow[]> =>
  ctx.db.conventions.listEnabled();

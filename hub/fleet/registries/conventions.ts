import type { ConventionRow } from "#hub/platform/db/rows.ts";
import type { PutConvention } from "#shared/protocol/schema/convention.ts";
import type { FleetContext } from "../context.ts";
import { slugRegistry } from "./slugs.ts";

export type ConventionFields = Omit<PutConvention, "slug">;

export const conventions = slugRegistry<ConventionFields>({
  one: "convention",
  rows: ({ db }) => db.conventions,
});

/** The house rules a planner is given, by slug. */
export const enabledConventions = (ctx: Pick<FleetContext, "db">): Promise<ConventionRow[]> =>
  ctx.db.conventions.listEnabled();

import { and, eq, gt, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import { first } from "../first.ts";
import type { HostsRepo } from "../fleet-types.ts";
import { jsonLists } from "./json-lists.ts";
import { freshHost, only } from "./row.ts";

/** Recipes of a host; setting something for an unknown host creates it. */
export function hostRecipes({
  q,
  t: { hosts },
  dialect,
}: Conn): Pick<HostsRepo, "addRecipe" | "removeRecipe" | "setLoginRecipe"> {
  const lists = jsonLists(dialect);
  const stored = sql`hosts.recipes`;
  const given = sql`excluded.recipes`;
  return {
    addRecipe: async (host, recipe, { max, max_chars }, now) =>
      first(
        await q
          .insert(hosts)
          .values({ ...freshHost(host, now), recipes: [recipe] })
          .onConflictDoUpdate({
            target: hosts.host,
            set: { recipes: lists.append(stored, given), updated_at: now },
            setWhere: sql`${lists.length(stored)} < ${max} and
            ${lists.chars(stored)} + ${lists.chars(given)} <= ${max_chars}`,
          })
          .returning(),
      ),
    removeRecipe: async (host, index, now) =>
      first(
        await q
          .update(hosts)
          .set({ recipes: lists.without(sql`recipes`, index), updated_at: now })
          .where(and(eq(hosts.host, host), gt(lists.length(sql`recipes`), index)))
          .returning(),
      ),
    setLoginRecipe: async (host, login_recipe, now) => {
      const rows = await q
        .insert(hosts)
        .values({ ...freshHost(host, now), login_recipe })
        .onConflictDoUpdate({ target: hosts.host, set: { login_recipe, updated_at: now } })
        .returning();
      return only(rows, host);
    },
  };
}

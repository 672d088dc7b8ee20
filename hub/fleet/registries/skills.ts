import { Glob } from "bun";
import type { SkillRow } from "#hub/platform/db/rows.ts";
import { canonicalHost } from "#shared/kit/host-name.ts";
import type { PutSkill, SkillListQuery } from "#shared/protocol/schema/skill.ts";
import type { FleetContext } from "../context.ts";
import { slugRegistry } from "./slugs.ts";

/**
 * Of a skill that a job has left behind and nobody has looked at yet: no planner is given it. Whoever takes the tag away
 * makes it a skill like any other.
 */
export const OFFERED_TAG = "offered";

/** How many a prompt has room for. */
const MAX_OFFERED = 8;

/** `host_pattern` is a glob on the host name, whatever its case: `*` any text, dots included. */
const isFor = (host: string) => (skill: Pick<SkillRow, "host_pattern">) =>
  new Glob(skill.host_pattern.toLowerCase()).match(host);

/** Text that is not a host name has only the skills for every host. */
const hostOf = (raw: string): string => canonicalHost(raw) ?? raw.toLowerCase();

export type SkillFields = Omit<PutSkill, "slug">;

/** A list shows only the skills for `host` and those that carry `tag`, where the query has them. */
export const skills = slugRegistry<SkillFields, SkillListQuery>({
  one: "skill",
  rows: ({ db }) => db.skills,
  shows: ({ host, tag }) => {
    const fits = host === undefined ? () => true : isFor(hostOf(host));
    return (skill) => fits(skill) && (tag === undefined || skill.tags.includes(tag));
  },
});

/**
 * The skills a planner is offered for a host, at most 8: those with the longest pattern first, of equally long ones the
 * one that changed last.
 */
export async function skillsFor(ctx: Pick<FleetContext, "db">, raw: string): Promise<SkillRow[]> {
  const fit = (await ctx.db.skills.patterns())
    .filter(({ tags }) => !tags.includes(OFFERED_TAG))
    .filter(isFor(hostOf(raw)))
    // The sort is stable: the newest stay in front.
    .sort((a, b) => b.host_pattern.length - a.host_pattern.length)
    .slice(0, MAX_OFFERED)
    .map(({ slug }) => slug);
  const rows = await ctx.db.skills.find(fit);
  return rows.sort((a, b) => fit.indexOf(a.slug) - fit.indexOf(b.slug));
}

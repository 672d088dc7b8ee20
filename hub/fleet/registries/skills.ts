import { Glob } from "bun";
import type { SkillRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { canonicalHost } from "#shared/kit/host-name.ts";
import type { PutSkill, Skill, SkillListQuery } from "#shared/protocol/schema/skill.ts";
import type { FleetContext } from "../context.ts";
import { removeRow, rowOf, writableSlug } from "./slugs.ts";

/**
 * Of a skill that a job has left behind and nobody has looked at yet: no planner is given it. Whoever takes the tag away
 * makes it a skill like any other.
 */
export const OFFERED_TAG = "offered";

/** How many a prompt has room for. */
const MAX_OFFERED = 8;

const skillRecord = (row: SkillRow): Skill => ({
  ...row,
  created_at: isoTime(row.created_at),
  updated_at: isoTime(row.updated_at),
});

/** `host_pattern` is a glob on the host name, whatever its case: `*` any text, dots included. */
const isFor = (host: string) => (skill: Pick<SkillRow, "host_pattern">) =>
  new Glob(skill.host_pattern.toLowerCase()).match(host);

/** Text that is not a host name has only the skills for every host. */
const hostOf = (raw: string): string => canonicalHost(raw) ?? raw.toLowerCase();

/** By slug; `host`: only those for this host, `tag`: only those that carry it. */
export async function listSkills(
  ctx: FleetContext,
  { host, tag }: Pick<SkillListQuery, "host" | "tag"> = {},
): Promise<Skill[]> {
  let rows = await ctx.db.skills.list();
  if (host !== undefined) rows = rows.filter(isFor(hostOf(host)));
  if (tag !== undefined) rows = rows.filter((row) => row.tags.includes(tag));
  return rows.map(skillRecord);
}

/** @throws AppError not_found. */
export const getSkill = async (ctx: FleetContext, slug: string): Promise<Skill> =>
  skillRecord(await rowOf(ctx.db.skills, slug, "skill"));

/** @throws AppError invalid for what is no slug. */
export async function putSkill(ctx: FleetContext, raw: string, input: PutSkill): Promise<Skill> {
  const { slug: given, ...skill } = input;
  const slug = writableSlug(raw, given);
  const now = ctx.clock.now();
  return skillRecord(await ctx.db.skills.put({ ...skill, slug, created_at: now, updated_at: now }));
}

/** @throws AppError not_found. */
export const deleteSkill = (ctx: FleetContext, slug: string): Promise<void> =>
  removeRow(ctx.db.skills, slug, "skill");

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

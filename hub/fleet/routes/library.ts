import { Convention, ConventionList, PutConvention } from "#shared/protocol/schema/convention.ts";
import { PageQuery } from "#shared/protocol/schema/page.ts";
import { Preset, PresetList, PutPreset } from "#shared/protocol/schema/preset.ts";
import { PutSkill, Skill, SkillList, SkillListQuery } from "#shared/protocol/schema/skill.ts";
import type { FleetContext } from "../context.ts";
import { type ConventionFields, conventions } from "../registries/conventions.ts";
import { type PresetFields, presets } from "../registries/presets.ts";
import { type SkillFields, skills } from "../registries/skills.ts";
import { type OfferedRegistry, registryRoutes } from "./registry.ts";

/** Named options for POST /jobs (rules/library#presets). */
const PRESETS = {
  registry: presets,
  name: "Preset",
  many: "presets",
  entry: Preset,
  list: { query: PageQuery, answer: PresetList, description: "By slug." },
  put: {
    body: PutPreset,
    example: { name: "Long page", options: { scroll: true, scroll_max: 20_000 } },
    description:
      "`options` are some of JobOptions. What a mode requires (a goal, a script) may be left to the job.",
  },
} satisfies OfferedRegistry<PresetFields>;

/** Pieces of script offered to the planner (rules/library#skills). */
const SKILLS = {
  registry: skills,
  name: "Skill",
  many: "skills",
  entry: Skill,
  list: {
    query: SkillListQuery,
    answer: SkillList,
    description: "By slug; `host` keeps those for a host, `tag` those that have it.",
  },
  put: {
    body: PutSkill,
    example: {
      host_pattern: "*.example.org",
      code: 'await page.click("#accept");',
      tags: ["consent"],
    },
    description:
      "`host_pattern` is a glob on the host name: * for any, *.example.org for those below.",
  },
} satisfies OfferedRegistry<SkillFields, SkillListQuery>;

/** House rules that the planner is given while they are enabled (rules/library#conventions). */
const CONVENTIONS = {
  registry: conventions,
  name: "Convention",
  many: "conventions",
  entry: Convention,
  list: { query: PageQuery, answer: ConventionList, description: "By slug." },
  put: {
    body: PutConvention,
    example: { title: "Prices", text: "Give prices as numbers, without a currency sign." },
    description: "A convention that is not enabled is kept, but the planner does not get it.",
  },
} satisfies OfferedRegistry<ConventionFields>;

/** What people keep for jobs and for the planner (rules/library#registry-calls). */
export const libraryRoutes = (ctx: FleetContext) =>
  [PRESETS, SKILLS, CONVENTIONS].map((offered) => registryRoutes(ctx, offered));

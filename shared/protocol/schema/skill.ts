import { z } from "@hono/zod-openapi";
import { MAX_CODE_BYTES } from "../limits.ts";
import { RegistrySlug } from "./engine.ts";
import { NextCursor, PageQuery } from "./page.ts";

/** A reusable piece of script, offered to the planner for the hosts that `host_pattern` (a glob) matches. */
const fields = {
  name: z.string().max(200).default(""),
  description: z.string().max(20_000).default(""),
  host_pattern: z.string().min(1).max(253).default("*"),
  code: z
    .string()
    .min(1)
    .refine((s) => new TextEncoder().encode(s).length <= MAX_CODE_BYTES, {
      error: `must be at most ${MAX_CODE_BYTES} bytes`,
    }),
  tags: z.array(z.string().min(1).max(64)).max(50).default([]),
  created_by: z.enum(["operator", "ai"]).default("operator"),
  created_from_job: z.string().max(64).nullable().default(null),
};

/** Body of PUT /skills/{slug} (rules/library#skills). */
export const PutSkill = z
  .strictObject({ slug: RegistrySlug.optional(), ...fields })
  .openapi("PutSkill");
export type PutSkill = z.infer<typeof PutSkill>;

export const Skill = z
  .object({
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    host_pattern: z.string(),
    code: z.string(),
    tags: z.array(z.string()),
    created_by: z.enum(["operator", "ai"]),
    created_from_job: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi("Skill");
export type Skill = z.infer<typeof Skill>;
export const SkillList = z.object({ skills: z.array(Skill), ...NextCursor }).openapi("SkillList");

/** Query of GET /skills: those for a host, those that carry a tag. */
export const SkillListQuery = PageQuery.extend({
  host: z.string().max(253).optional(),
  tag: z.string().max(64).optional(),
});
export type SkillListQuery = z.infer<typeof SkillListQuery>;

import type { Skill } from "#shared/protocol/schema/skill.ts";
import { call } from "../../lib/http.ts";

/** The tag of a skill that a job left behind and nobody has taken yet: no planner is given it (rules/scripts#offers). */
export const OFFERED = "offered";

/** Takes the tag away. */
export const takeSkill = ({ created_at: _made, updated_at: _changed, ...skill }: Skill) =>
  call("PUT /skills/{slug}", {
    params: { slug: skill.slug },
    json: { ...skill, tags: skill.tags.filter((tag) => tag !== OFFERED) },
  });

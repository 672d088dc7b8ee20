import { asc, desc, inArray } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { SkillsRepo } from "./library-types.ts";
import { slugRows } from "./slug-rows.ts";

export function skillsRepo(conn: Conn): SkillsRepo {
  const {
    q,
    t: { skills },
  } = conn;
  return {
    ...slugRows(conn, skills, ["created_at"]),
    patterns: async () =>
      q
        .select({ slug: skills.slug, host_pattern: skills.host_pattern, tags: skills.tags })
        .from(skills)
        .orderBy(desc(skills.updated_at), asc(skills.slug)),
    find: async (slugs) =>
      slugs.length === 0
        ? []
        : q.select().from(skills).where(inArray(skills.slug, slugs)).orderBy(asc(skills.slug)),
  };
}

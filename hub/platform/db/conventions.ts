import { asc, eq } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { ConventionsRepo } from "./library-types.ts";
import { slugRows } from "./slug-rows.ts";

export function conventionsRepo(conn: Conn): ConventionsRepo {
  const {
    q,
    t: { conventions },
  } = conn;
  return {
    ...slugRows(conn, conventions, ["created_at"]),
    listEnabled: async () =>
      q
        .select()
        .from(conventions)
        .where(eq(conventions.enabled, true))
        .orderBy(asc(conventions.slug)),
  };
}

import type { Role } from "#shared/protocol/schema/token.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** Who may call: tokens with roles, and browsers that were let in. Secrets are stored as SHA-256 hashes. Times epoch ms. */
export function defineAccessTables(c: ColumnKit) {
  const access_tokens = c.table(
    "access_tokens",
    {
      token_id: c.str("token_id").primaryKey(),
      name: c.str("name").notNull(),
      role: c.str("role").$type<Role>().notNull(),
      hash: c.str("hash").notNull(),
      created_at: c.time("created_at").notNull(),
      /** Null: never. One that expired stays until it is revoked. */
      expires_at: c.time("expires_at"),
      /** To the minute. */
      last_used_at: c.time("last_used_at"),
    },
    (t) => [c.uniqueIndex("access_tokens_hash_idx").on(t.hash)],
  );

  /** `token_id`: the token that it was opened with, and without which it is nothing. */
  const browser_sessions = c.table(
    "browser_sessions",
    {
      hash: c.str("hash").primaryKey(),
      kind: c.str("kind").$type<"token" | "api token" | "administrator">().notNull(),
      token_id: c.str("token_id"),
      /** Of the two other kinds: made of the session's secret and of the token or password, either of which ends it when it changes. */
      proof: c.str("proof"),
      created_at: c.time("created_at").notNull(),
      expires_at: c.time("expires_at").notNull(),
    },
    (t) => [
      c.index("browser_sessions_token_idx").on(t.token_id),
      c.index("browser_sessions_expires_idx").on(t.expires_at),
    ],
  );
  return { access_tokens, browser_sessions };
}

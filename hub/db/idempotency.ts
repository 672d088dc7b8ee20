import { and, eq, isNull, lt } from "drizzle-orm";
import { IDEMPOTENCY_TTL_MS } from "#shared/limits.ts";
import type { Conn } from "./conn.ts";
import type { IdempotencyRepo } from "./types.ts";

/** A key can be given back between losing it and reading who has it; then it is free to take again. */
const TRIES = 5;

export function idempotencyRepo({ q, t: { idempotency_keys: keys } }: Conn): IdempotencyRepo {
  return {
    begin: async (key, fingerprint, now) => {
      for (let i = 0; i < TRIES; i += 1) {
        const taken = await q
          .insert(keys)
          .values({ key, fingerprint, created_at: now })
          .onConflictDoUpdate({
            target: keys.key,
            set: { fingerprint, created_at: now, answer: null },
            setWhere: lt(keys.created_at, now - IDEMPOTENCY_TTL_MS),
          })
          .returning({ key: keys.key });
        if (taken.length > 0) return null;
        const [row] = await q.select().from(keys).where(eq(keys.key, key));
        if (row) return row;
      }
      throw new Error("idempotency key was taken and given back at every try");
    },
    complete: async (key, answer) => {
      await q.update(keys).set({ answer }).where(eq(keys.key, key));
    },
    abandon: async (key, created_at) => {
      await q
        .delete(keys)
        .where(and(eq(keys.key, key), eq(keys.created_at, created_at), isNull(keys.answer)));
    },
    expire: async (created_before) => {
      const gone = await q
        .delete(keys)
        .where(lt(keys.created_at, created_before))
        .returning({ key: keys.key });
      return gone.length;
    },
  };
}

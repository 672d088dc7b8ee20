import { and, eq, inArray, isNull, lt, ne, or, type SQL, sql } from "drizzle-orm";
import { IDEMPOTENCY_TTL_MS } from "#shared/protocol/limits.ts";
import type { Conn } from "./conn.ts";
import type { IdempotencyRepo } from "./platform-types.ts";

/** A key can be given back between the failed attempt to take it and the read of its holder; then it is free again. */
const TRIES = 5;
/** How long a call counts as running at a process of an earlier version, which leases nothing. */
const UNLEASED_MS = 120_000;

export function idempotencyRepo({ q, dialect, t }: Conn): IdempotencyRepo {
  const { idempotency_keys: keys } = t;
  /** Each hub of a fleet has its own clock, but the database has one for all; SQLite belongs to a single process. */
  const time = (monotonic: number): SQL =>
    dialect === "postgres"
      ? sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`
      : sql`${monotonic}`;
  const until = (monotonic: number, lease_ms: number) =>
    sql<number>`${time(monotonic)} + ${lease_ms}`;
  /** Calls that another process left in a SQLite file are over, because only one process has it at a time. */
  const lapsed = (owner: string, monotonic: number): SQL => {
    const late = sql`coalesce(${keys.leased_until}, ${keys.created_at} + ${UNLEASED_MS}) <= ${time(monotonic)}`;
    if (dialect === "postgres") return late;
    return sql`(${or(late, isNull(keys.owner), ne(keys.owner, owner))})`;
  };
  const running = (owner: string) => and(eq(keys.owner, owner), isNull(keys.answer));
  return {
    begin: async ({ key, fingerprint, owner, now, monotonic, lease_ms }) => {
      const leased_until = until(monotonic, lease_ms);
      const over = lapsed(owner, monotonic);
      for (let i = 0; i < TRIES; i += 1) {
        const taken = await q
          .insert(keys)
          .values({ key, fingerprint, created_at: now, owner, leased_until })
          .onConflictDoUpdate({
            target: keys.key,
            set: { fingerprint, created_at: now, owner, leased_until, answer: null },
            setWhere: or(
              lt(keys.created_at, now - IDEMPOTENCY_TTL_MS),
              and(eq(keys.fingerprint, fingerprint), isNull(keys.answer), over),
            ),
          })
          .returning({ key: keys.key });
        if (taken.length > 0) return null;
        const [found] = await q
          .select({ row: keys, lapsed: sql<boolean | number>`${over}` })
          .from(keys)
          .where(eq(keys.key, key));
        if (found) return { ...found.row, leased: !found.lapsed };
      }
      throw new Error("idempotency key was taken and given back at every try");
    },
    renew: async (names, owner, monotonic, lease_ms) => {
      await q
        .update(keys)
        .set({ leased_until: until(monotonic, lease_ms) })
        .where(and(inArray(keys.key, names), running(owner)));
    },
    complete: async (key, owner, answer) => {
      await q
        .update(keys)
        .set({ answer })
        .where(and(eq(keys.key, key), eq(keys.owner, owner)));
    },
    abandon: async (key, owner) => {
      await q.delete(keys).where(and(eq(keys.key, key), running(owner)));
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

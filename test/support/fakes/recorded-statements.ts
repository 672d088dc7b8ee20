import { drizzle as pgProxy } from "drizzle-orm/pg-proxy";
import { drizzle as sqliteProxy } from "drizzle-orm/sqlite-proxy";
import { pgKit } from "#drizzle/kit.pg.ts";
import { sqliteKit } from "#drizzle/kit.sqlite.ts";
import { defineTables } from "#drizzle/tables.ts";
import type { Conn, Statement } from "#hub/platform/db/conn.ts";

export interface Recorded {
  sql: string;
  params: unknown[];
}

/** What a repository sends when its reads answer with `rows`; nothing is run. */
export async function recordStatements(
  dialect: Conn["dialect"],
  work: (conn: Conn) => Promise<unknown>,
  rows: unknown[][] = [],
): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const answer = async (sql: string, params: unknown[]) => {
    recorded.push({ sql, params });
    return { rows };
  };
  const db = dialect === "postgres" ? pgProxy(answer) : sqliteProxy(answer);
  const atomic = async (statements: Statement[]) => {
    recorded.push(...statements.map((statement) => statement.toSQL()));
    return statements.map(() => []);
  };
  await work({
    dialect,
    atomic,
    t: defineTables(dialect === "postgres" ? pgKit : sqliteKit),
    q: db as unknown as Conn["q"],
  } as unknown as Conn);
  return recorded;
}

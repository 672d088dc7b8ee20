import { getTableColumns, type SQL, sql } from "drizzle-orm";

/** The values of a row in the order of its table's columns, for `insert … select`. */
export function rowValues(table: Parameters<typeof getTableColumns>[0], row: object): SQL {
  const values = Object.entries(getTableColumns(table)).map(
    ([name, column]) => sql`${sql.param(row[name as keyof typeof row], column)}`,
  );
  return sql.join(values, sql`, `);
}

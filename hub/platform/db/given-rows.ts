import { type SQL, sql } from "drizzle-orm";

type Columns = Record<string, { getSQLType(): string }>;

/** Postgres: `rows`, an array of objects as JSON, as a table `v`. One text for any number of rows, so it is prepared once. */
export const givenRows = (columns: Columns): SQL => {
  const types = Object.entries(columns).map(([name, c]) => `"${name}" ${c.getSQLType()}`);
  return sql`json_to_recordset(${sql.placeholder("rows")}::json) as v(${sql.raw(types.join(", "))})`;
};

/** A column of that table. */
export const given = (name: string): SQL => sql.raw(`v."${name}"`);

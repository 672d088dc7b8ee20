import { fillPlaceholders } from "drizzle-orm";
import type { Statement } from "./conn.ts";

/** Builds `statement`, which has named holes, once; the returned function fills them with values. */
export function bindable(statement: Statement): (values: Record<string, unknown>) => Statement {
  const { sql, params } = statement.toSQL();
  return (values) => ({ toSQL: () => ({ sql, params: fillPlaceholders(params, values) }) });
}

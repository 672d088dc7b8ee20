import { join } from "node:path";
import { Glob } from "bun";
import { isSchema, type Schema } from "./schema.ts";

/** Where a schema has a name: `typeof Host`, or `(typeof SESSION_ACTIONS)["click"]["args"]`. */
export interface SchemaName {
  /** The file that exports it, as it is imported. */
  from: string;
  /** The export. */
  name: string;
  /** What leads from the export to the schema. */
  path: string;
}

const ROOT = join(import.meta.dir, "../..");
/** Where the schemas of the API are. */
const FILES = new Glob("shared/protocol/{schema,actions}/*.ts");
/** How deep tables of schemas are looked through. */
const DEEPEST = 3;

/** Every schema that one of those files exports, by itself or in a table. The first name counts. */
export async function namedSchemas(): Promise<Map<Schema, SchemaName>> {
  const found = new Map<Schema, SchemaName>();
  const in_tables: [Schema, SchemaName][] = [];
  const visit = (value: unknown, at: SchemaName, depth: number): void => {
    if (isSchema(value)) {
      if (depth > 0) in_tables.push([value, at]);
      else if (!found.has(value)) found.set(value, at);
    } else if (depth < DEEPEST && typeof value === "object" && value !== null)
      for (const [key, part] of Object.entries(value))
        visit(part, { ...at, path: `${at.path}[${JSON.stringify(key)}]` }, depth + 1);
  };
  for (const file of (await Array.fromAsync(FILES.scan(ROOT))).sort()) {
    const from = `#${file}`;
    const exported = Object.entries(await import(from)).sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, value] of exported) visit(value, { from, name, path: "" }, 0);
  }
  for (const [schema, at] of in_tables) if (!found.has(schema)) found.set(schema, at);
  return found;
}

import { describe, expect, test } from "bun:test";
import { getTableColumns, getTableName, type Table } from "drizzle-orm";
import { type PgTable, getTableConfig as pgConfig } from "drizzle-orm/pg-core";
import { type SQLiteTable, getTableConfig as sqliteConfig } from "drizzle-orm/sqlite-core";
import { pgKit } from "#drizzle/kit.pg.ts";
import { sqliteKit } from "#drizzle/kit.sqlite.ts";
import * as pgSchema from "#drizzle/schema.pg.ts";
import * as sqliteSchema from "#drizzle/schema.sqlite.ts";
import { defineTables } from "#drizzle/tables.ts";

const pg = { ...pgSchema };
const sqlite = { ...sqliteSchema };

/** What each Postgres column type is in SQLite. */
const SQLITE_TYPE: Record<string, string> = {
  text: "text",
  jsonb: "text",
  integer: "integer",
  bigint: "integer",
  bigserial: "integer",
  boolean: "integer",
  "double precision": "real",
};

const columnsOf = (table: Table) =>
  Object.entries(getTableColumns(table)).map(([key, column]) => ({
    key,
    name: column.name,
    not_null: column.notNull,
    primary: column.primary,
    default: column.default ?? null,
    has_default: column.hasDefault,
    type: SQLITE_TYPE[column.getSQLType()] ?? column.getSQLType(),
  }));

/** The two kits give one set of tables; `sqliteKit` is cast to the Postgres types and this is what makes that true. */
const shapeOf = (config: ReturnType<typeof pgConfig> | ReturnType<typeof sqliteConfig>) => ({
  primary_keys: config.primaryKeys.map((key) => key.columns.map((c) => c.name)),
  foreign_keys: config.foreignKeys.map((key) => ({
    columns: key.reference().columns.map((c) => c.name),
    to: getTableName(key.reference().foreignTable),
    to_columns: key.reference().foreignColumns.map((c) => c.name),
    on_delete: key.onDelete,
  })),
  indexes: config.indexes.map(({ config: index }) => ({
    name: index.name,
    unique: index.unique,
    columns: index.columns.map((c) => ("name" in c ? c.name : "expression")),
  })),
});

describe("both dialects have the same tables", () => {
  test("the same names are exported", () => {
    expect(Object.keys(sqlite).sort()).toEqual(Object.keys(pg).sort());
  });

  // drizzle-kit sees what these modules export: a table left out would get no migration, and no check would tell.
  for (const [dialect, exported, kit] of [
    ["pg", pg, pgKit],
    ["sqlite", sqlite, sqliteKit],
  ] as const)
    test(`schema.${dialect}.ts exports every table of defineTables, under its own name`, () => {
      const defined = defineTables(kit);
      expect(Object.keys(exported).sort()).toEqual(Object.keys(defined).sort());
      for (const [name, table] of Object.entries<Table>(exported))
        expect(getTableName(table) as string).toBe(name);
    });

  for (const name of Object.keys(pg) as (keyof typeof pg)[]) {
    // At run time schema.sqlite.ts holds SQLite tables; its types are those of Postgres.
    const sqliteTable = sqlite[name] as unknown as SQLiteTable;
    const pgTable = pg[name] as unknown as PgTable;

    test(`${name}: every column has the same name, nullability, default and type`, () => {
      expect(columnsOf(sqliteTable)).toEqual(columnsOf(pgTable));
    });
    test(`${name}: keys, foreign keys and indexes are the same`, () => {
      expect(shapeOf(sqliteConfig(sqliteTable))).toEqual(shapeOf(pgConfig(pgTable)));
    });
  }
});

import type { Tables } from "#drizzle/tables.ts";

type Run = Tables["runs"]["$inferSelect"];

interface ReportedColumn {
  /** Which ends of an attempt report it. */
  of: "success" | "failure" | "both";
  /** The type that is sent to Postgres, and the column's type where that differs. */
  sent: "text" | "bool" | "int" | "bigint" | "float8";
  cast?: "jsonb";
}

/**
 * The columns of a run that the report of its attempt fills, beside how long it took: both databases write what is
 * listed here. A column is null, a flag false, where nothing was reported.
 */
export const REPORTED_COLUMNS = {
  output: { of: "success", sent: "text", cast: "jsonb" },
  error: { of: "failure", sent: "text" },
  truncated: { of: "both", sent: "bool" },
  fingerprint: { of: "failure", sent: "text" },
} as const satisfies Partial<Record<keyof Run, ReportedColumn>>;

type Columns = typeof REPORTED_COLUMNS;
type Name = keyof Columns;
/** JSON is text here, because the queue only stores it and passes it on. */
type Value<N extends Name> = Columns[N] extends { cast: "jsonb" } ? string | null : Run[N];
type NamesOf<End extends ReportedColumn["of"]> = {
  [N in Name]: Columns[N]["of"] extends End | "both" ? N : never;
}[Name];
type Nullable<N extends Name> = N extends Name ? (null extends Value<N> ? N : never) : never;
type Values<N extends Name> = { [K in Exclude<N, Nullable<N>>]: Value<K> } & {
  [K in Nullable<N>]?: Value<K>;
};
export type SuccessColumns = Values<NamesOf<"success">>;
export type FailureColumns = Values<NamesOf<"failure">>;
/** Columns of the other outcomes may be missing too. */
export type AnyColumns = Partial<Values<Name>>;

/** Columns that are stored as reported; texts and JSON are cleaned first. */
export type PlainColumn = {
  [N in Name]: Columns[N]["sent"] extends "text" ? never : N;
}[Name];

const NAMES = Object.keys(REPORTED_COLUMNS) as Name[];
export const PLAIN_COLUMNS = NAMES.filter(
  (name): name is PlainColumn => REPORTED_COLUMNS[name].sent !== "text",
);
export const columnsOf = (end: "success" | "failure" | "both"): readonly Name[] =>
  end === "both"
    ? NAMES
    : NAMES.filter((name) => ["both", end].includes(REPORTED_COLUMNS[name].of));

const NOT_REPORTED = Object.fromEntries(
  NAMES.map((name) => [name, REPORTED_COLUMNS[name].sent === "bool" ? false : null]),
) as Record<Name, false | null>;

/** The value of one of the columns in a report, as it is stored. */
export const storedValue = (name: Name, report: AnyColumns): string | number | boolean | null =>
  report[name] ?? NOT_REPORTED[name];

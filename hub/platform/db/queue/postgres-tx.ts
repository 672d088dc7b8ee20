import type { Sql, TransactionSql } from "postgres";
import type { Counter, Deltas } from "./deltas.ts";
import { ADD_RATES, ADD_STATS } from "./postgres-statements.ts";
import { type AnyColumns, columnsOf, storedValue } from "./run-columns.ts";

/** A transaction of the queue, and its changes of the counters. */
export interface Tx {
  q<R>(text: string, params?: Param[]): Promise<R[]>;
  random: () => number;
  deltas: Deltas;
}
type Param = string | number | null;

/** An array as the text of its literal: the driver's own arrays need the server's list of types at every connection. */
export const list = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values
    .map((v) =>
      v === null ? "NULL" : typeof v === "string" ? `"${v.replace(/[\\"]/g, "\\$&")}"` : String(v),
    )
    .join(",")}}`;

/** The columns of runs that reports fill, each as a list. */
export const reportedLists = (
  end: "success" | "failure",
  reports: readonly AnyColumns[],
): string[] =>
  columnsOf(end).map((name) => list(reports.map((report) => storedValue(name, report))));

export const querier =
  (sql: Sql | TransactionSql) =>
  async <R>(text: string, params: Param[] = []): Promise<R[]> =>
    (await sql.unsafe(text, params, { prepare: true })) as unknown as R[];

/** `n`, `n.1`, `n.2` …: as many as transactions have run at a time. */
export function freeNames(node: string) {
  const free: string[] = [];
  let made = 0;
  return {
    take: () => free.pop() ?? (made++ === 0 ? node : `${node}.${made - 1}`),
    give: (name: string) => void free.push(name),
  };
}

/** The counters and the minute's events; the last statements of a transaction. */
export async function writeDeltas({ q, deltas }: Tx, node: string): Promise<void> {
  const all = deltas.all();
  if (all.length === 0) return;
  const counter = (name: Counter) => list(all.map((d) => d.counters[name]));
  const rates = all.flatMap((d) => [...d.metrics].map(([metric, n]) => ({ d, metric, n })));
  await Promise.all([
    q(ADD_STATS, [
      node,
      list(all.map((d) => d.workload_id)),
      counter("ready"),
      counter("claimed"),
      counter("failed"),
      counter("delayed"),
      list(all.map((d) => d.bits)),
      list(all.map((d) => d.runs)),
    ]),
    rates.length === 0
      ? []
      : q(ADD_RATES, [
          node,
          list(rates.map(({ d }) => d.workload_id)),
          list(rates.map(({ metric }) => metric)),
          list(rates.map(({ n }) => n)),
        ]),
  ]);
}

import type { Flag } from "./flags.ts";

/** Of `flotilla submit`, for files whose rows become tasks. */
export const TABLE_FLAGS: readonly Flag[] = [
  {
    name: "csv",
    value: "FILE",
    help: "a CSV file whose first row names the columns, a task a row; - reads standard input",
  },
  { name: "jsonl", value: "FILE", help: "the same of objects in JSON, one a line" },
  {
    name: "key",
    value: "COLUMN",
    help: "the column or field of a task's key (pk, or the first)",
  },
  {
    name: "columns",
    value: "LIST",
    help: "those that become extra, such as url,breite=width (all but the key's)",
  },
  {
    name: "typed",
    help: "cells of a CSV file that are numbers, true, false or null become those",
  },
  { name: "dry-run", help: "show what would be submitted, and every fault by its line" },
  { name: "skip-faults", help: "leave lines with faults out instead of ending there" },
];

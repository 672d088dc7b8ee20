import { z } from "@hono/zod-openapi";
import { QueryBoolean } from "./page.ts";
import { TaskIn } from "./queue.ts";

/** Tasks from a file (rules/pipeline-import#import-a-file). */

export const IMPORT_LIMITS = {
  bytes: 64 * 1024 * 1024,
  rows: 1_000_000,
  /** Of one line or record. */
  row_bytes: 2 * 1024 * 1024,
  columns: 1_000,
  /** That an answer names; the others are counted. */
  faults: 50,
} as const;
export const IMPORT_FORMATS = ["csv", "jsonl"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
/** Media types by the format they say; any of them, or none, where the query names the format. */
export const IMPORT_TYPES: Record<ImportFormat, readonly string[]> = {
  csv: ["text/csv", "application/csv"],
  jsonl: [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
  ],
};

export const ImportQuery = z.object({
  format: z
    .enum(IMPORT_FORMATS)
    .optional()
    .describe("What the body is, where its Content-Type does not say"),
  key: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe("Column, or field of each object, with the task's key")
    .openapi({ example: "id" }),
  columns: z
    .string()
    .max(100_000)
    .optional()
    .describe(
      "Which columns become the task's extra: `url,width`, `url,breite=width` to give one another name, or a JSON object of names by column; without it all but the key's",
    ),
  typed: QueryBoolean.default(false).describe(
    "Cells of a CSV file that are JSON numbers, true, false or null become those; otherwise they stay text",
  ),
  dry_run: QueryBoolean.default(false).describe("Reads and judges everything, and submits nothing"),
  skip_faults: QueryBoolean.default(false).describe(
    "Leaves lines with faults out; otherwise nothing more is submitted from the batch on that has one",
  ),
  preview: z.coerce.number().int().min(0).max(100).openapi({ type: "integer" }).default(20),
});
export type ImportQuery = z.infer<typeof ImportQuery>;

export const ImportFault = z.object({ line: z.int(), error: z.string() });
export type ImportFault = z.infer<typeof ImportFault>;

/**
 * `columns`: those of the file; of JSON lines the fields of its first objects. `tasks`: the first ones, as they are
 * submitted. `duplicates`: keys that are in the queue already, or stand in the file before.
 */
export const ImportResult = z
  .object({
    dry_run: z.boolean(),
    format: z.enum(IMPORT_FORMATS),
    columns: z.array(z.string()),
    key: z.string().nullable(),
    rows: z.int(),
    submitted: z.int(),
    duplicates: z.int(),
    faults: z.array(ImportFault),
    fault_count: z.int(),
    tasks: z.array(TaskIn),
  })
  .openapi("ImportResult");
export type ImportResult = z.infer<typeof ImportResult>;

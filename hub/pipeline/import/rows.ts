import { Readable } from "node:stream";
import { type CsvError, parse } from "csv-parse";
import { errorMessage, invalid } from "#shared/kit/errors.ts";
import { isObject } from "#shared/kit/is-object.ts";
import { parseJson } from "#shared/kit/json.ts";
import { IMPORT_LIMITS, type ImportFormat } from "#shared/protocol/schema/task-import.ts";
import { linesOf } from "./text.ts";

/** A record of a file: `line` is where it begins, from 1. */
export type Row =
  | { line: number; value: Record<string, unknown> }
  | { line: number; error: string; fatal?: true };

export interface Rows {
  /** Complete once the first row was read; of JSON lines it grows with them. */
  columns: string[];
  rows: AsyncIterable<Row>;
}

/** The columns of the first lines are told: later ones are the same in most files. */
const LOOKED_AT = 100;

function jsonLines(text: AsyncIterable<string>): Rows {
  const columns = new Set<string>();
  const found: Rows = { columns: [], rows: read() };
  async function* read(): AsyncGenerator<Row> {
    let line = 0;
    for await (const one of linesOf(text)) {
      line += 1;
      if (one.trim() === "") continue;
      let value: unknown;
      try {
        value = parseJson(one);
      } catch (err) {
        yield { line, error: `is not JSON: ${errorMessage(err)}` };
        continue;
      }
      if (typeof value === "string") value = { pk: value };
      if (!isObject(value)) {
        yield { line, error: "must be a JSON object, or a string that is the task's key" };
        continue;
      }
      if (line <= LOOKED_AT && columns.size < IMPORT_LIMITS.columns) {
        for (const name of Object.keys(value)) columns.add(name);
        found.columns = [...columns];
      }
      yield { line, value };
    }
  }
  return found;
}

const DELIMITERS = [",", ";", "\t"];

/** The one that stands most often in the header, outside of quotes: spreadsheets of many countries write semicolons. */
function delimiterOf(start: string): string {
  const [header = ""] = start.replaceAll(/"(?:[^"]|"")*"/g, "").split(/[\r\n]/);
  const counted = DELIMITERS.map((one) => ({ one, n: header.split(one).length }));
  return counted.sort((a, b) => b.n - a.n)[0]?.one ?? ",";
}

/** The first pieces up to the end of the header, and everything. */
async function peek(text: AsyncIterable<string>) {
  const pieces = text[Symbol.asyncIterator]();
  let start = "";
  let done = false;
  while (!done && !/[\r\n]/.test(start) && start.length < IMPORT_LIMITS.row_bytes) {
    const next = await pieces.next();
    done = next.done ?? false;
    if (!done) start += next.value;
  }
  async function* all() {
    try {
      if (start !== "") yield start;
      while (!done) {
        const next = await pieces.next();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await pieces.return?.();
    }
  }
  return { start, all: all() };
}

/** @throws AppError invalid naming what is wrong with the header */
function checkHeader(names: readonly string[]): string[] {
  const columns = names.map((name) => name.trim());
  if (columns.length > IMPORT_LIMITS.columns)
    throw invalid(["body", "line", 1], `a file has at most ${IMPORT_LIMITS.columns} columns`);
  for (const [i, name] of columns.entries()) {
    if (name === "") throw invalid(["body", "line", 1], `column ${i + 1} has no name`);
    if (columns.indexOf(name) !== i)
      throw invalid(["body", "line", 1], `two columns have the name ${name}`);
  }
  return columns;
}

const asText = (cells: readonly string[], names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(cells.map((cell, i) => [names[i], cell]));

/** A comma-separated file by RFC 4180 whose first record names the columns. */
async function csv(text: AsyncIterable<string>): Promise<Rows> {
  const { start, all } = await peek(text);
  const parser = parse({
    delimiter: delimiterOf(start),
    bom: true,
    info: true,
    skip_empty_lines: true,
    // Counted below, so that one faulty record does not end the file.
    relax_column_count: true,
    max_record_size: IMPORT_LIMITS.row_bytes,
  });
  const source = Readable.from(all);
  source.on("error", (err) => parser.destroy(err));
  source.pipe(parser);
  const found: Rows = { columns: [], rows: read() };
  async function* read(): AsyncGenerator<Row> {
    // A record is told with the line where it ends.
    let line = 1;
    try {
      for await (const { record, info } of parser as AsyncIterable<{
        record: string[];
        info: { lines: number };
      }>) {
        const begins = line;
        line = info.lines + 1;
        if (found.columns.length === 0) found.columns = checkHeader(record);
        else if (record.length === found.columns.length)
          yield { line: begins, value: asText(record, found.columns) };
        else
          yield {
            line: begins,
            error: `has ${record.length} cells, but the header has ${found.columns.length}`,
          };
      }
    } catch (err) {
      if (!isCsvError(err)) throw err;
      // Nothing after a quote that does not end can be trusted.
      yield { line: err.lines ?? line, error: err.message, fatal: true };
    } finally {
      source.destroy();
      parser.destroy();
    }
  }
  return found;
}

const isCsvError = (err: unknown): err is CsvError & { lines?: number } =>
  err instanceof Error && "code" in err && /^CSV_/.test(String(err.code));

/** The records of a file. @throws AppError invalid when its beginning cannot be read */
export const rowsOf = async (format: ImportFormat, text: AsyncIterable<string>): Promise<Rows> =>
  format === "csv" ? csv(text) : jsonLines(text);

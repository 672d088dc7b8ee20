import type { TaskIn } from "#shared/client/index.ts";
import { UsageError } from "./exit.ts";

/** A task and where it was written, `items.jsonl:17` or `word 2`. */
export interface PlacedTask {
  task: TaskIn;
  place: string;
  /** Length of its line, which is what it costs in memory. */
  bytes: number;
}

/** 1 MiB of `extra` with every character escaped. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const NEWLINE = 10;

interface Line {
  number: number;
  bytes: Uint8Array;
}

/** Lines of a stream; holds at most one line and one chunk. @throws UsageError for a line that is too long. */
async function* readLines(
  stream: ReadableStream<Uint8Array>,
  name: string,
): AsyncGenerator<Line, void, void> {
  let parts: Uint8Array[] = [];
  let size = 0;
  let number = 1;
  const keep = (part: Uint8Array) => {
    size += part.byteLength;
    if (size > MAX_LINE_BYTES)
      throw new UsageError(`${name}:${number}: is longer than ${MAX_LINE_BYTES} bytes`);
    if (part.byteLength > 0) parts.push(part);
  };
  const take = (): Line => {
    const line = { number, bytes: Buffer.concat(parts) };
    parts = [];
    size = 0;
    number += 1;
    return line;
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, at));
      yield take();
      from = at + 1;
    }
    keep(chunk.subarray(from));
  }
  if (size > 0) yield take();
}

function parseJsonLine(text: string, place: string): TaskIn {
  let value: { pk?: unknown };
  try {
    value = JSON.parse(text);
  } catch (err) {
    throw new UsageError(
      `${place}: is not valid JSON: ${err instanceof Error ? err.message : err}`,
    );
  }
  if (value.pk === undefined) throw new UsageError(`${place}: pk: is required`);
  return value as TaskIn;
}

/**
 * Tasks of a file: a line that begins with `{` is a task as JSON (rules/clients#tasks-of-a-file), any other line is a key. Blank
 * lines are left out. What a task may hold is judged by the control plane alone.
 * @throws UsageError naming the line that is not UTF-8, not JSON or has no pk.
 */
export async function* readTaskLines(
  stream: ReadableStream<Uint8Array>,
  name: string,
): AsyncGenerator<PlacedTask, void, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const { number, bytes } of readLines(stream, name)) {
    const place = `${name}:${number}`;
    let text: string;
    try {
      text = decoder.decode(bytes).replace(/\r$/, "");
    } catch {
      throw new UsageError(`${place}: is not valid UTF-8`);
    }
    if (text.trim() === "") continue;
    const task = text.trimStart().startsWith("{") ? parseJsonLine(text, place) : { pk: text };
    yield { task, place, bytes: bytes.byteLength };
  }
}

export async function* tasksOfWords(words: string[]): AsyncGenerator<PlacedTask, void, void> {
  for (const [i, pk] of words.entries())
    yield { task: { pk }, place: `task ${i + 1}`, bytes: pk.length };
}

/** Groups of at most `items` tasks that together hold about `bytes`. */
export async function* inBatches(
  tasks: AsyncIterable<PlacedTask>,
  most: { items: number; bytes: number },
): AsyncGenerator<PlacedTask[], void, void> {
  let batch: PlacedTask[] = [];
  let bytes = 0;
  for await (const task of tasks) {
    batch.push(task);
    bytes += task.bytes;
    if (batch.length < most.items && bytes < most.bytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

import { open } from "node:fs/promises";
import { readZip, type ZipFile } from "#shared/archive/read-zip.ts";
import { maskOf, secretForms } from "#shared/kit/secret-forms.ts";
import { createGatherer } from "./gather-secrets.ts";
import { createLineMask } from "./mask-events.ts";
import { eventOf } from "./trace-events.ts";
import { writeZip, type ZipEntry } from "./write-zip.ts";

const LIMITS = { entries: 60_000, directory_bytes: 16 * 1024 * 1024 };
/** The worker's own files and lines: they say nothing about the page, and much about the machine. */
const LEFT_OUT = /\.stacks$/;
const EVENTS = /\.(trace|network)$/;
/** A change to any byte of these would break them, and their bytes spell nothing. */
const NO_TEXT =
  /\.(jpe?g|png|gif|webp|avif|ico|bmp|tiff?|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|og[agv]|wav|flac|mov|avi|pdf|zip|gz|br|zst|wasm)$/i;
/** A known secret that is shorter would be found in every other word of what servers answered. */
const MIN_IN_FILES = 4;

/**
 * Writes the trace at `from` to `to` without the secrets in it: those that are known, and those that it shows itself as
 * the contents of password fields, as cookies and as headers that grant access. Pictures stay as they are.
 * @returns the length of the file
 * @throws Error when it cannot be read, or takes longer than the signal allows
 */
export async function maskTrace(
  { from, to }: { from: string; to: string },
  known: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const source = await open(from);
  try {
    const files = (await readZip(source, LIMITS)).filter(({ name }) => !LEFT_OUT.test(name));
    const gatherer = createGatherer(known);
    for (const file of files.filter(({ name }) => EVENTS.test(name)))
      for await (const line of linesOf(file, signal)) {
        const event = eventOf(line);
        if (event) gatherer.read(event);
      }
    const found = gatherer.found();
    const maskLine = createLineMask(known, found);
    const maskBytes = createBytesMask([...known, ...found.values]);
    const target = await open(to, "wx", 0o600);
    try {
      return await writeZip(target, entriesOf(files, { maskLine, maskBytes }, signal));
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

interface Masks {
  maskLine(line: string): string;
  maskBytes(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

function* entriesOf(
  files: readonly ZipFile[],
  { maskLine, maskBytes }: Masks,
  signal: AbortSignal,
): Generator<ZipEntry> {
  for (const file of files) {
    const { name } = file;
    if (NO_TEXT.test(name)) yield { name, body: checked(file, signal), compress: false };
    else if (EVENTS.test(name))
      yield { name, body: masked(linesOf(file, signal), maskLine), compress: true };
    else yield { name, body: maskBytes(checked(file, signal)), compress: true };
  }
}

/** Lets others have a turn after each piece. */
async function* checked(file: ZipFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of file.read()) {
    signal.throwIfAborted();
    yield chunk;
    await Bun.sleep(0);
  }
}

async function* linesOf(file: ZipFile, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of checked(file, signal)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

async function* masked(
  lines: AsyncIterable<string>,
  mask: (line: string) => string,
): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(`${mask(line)}\n`);
}

/**
 * Masks files of any encoding that has ASCII in it: bytes are read as characters, one each, and so are the secrets.
 */
function createBytesMask(secrets: readonly string[]): Masks["maskBytes"] {
  const long = secrets.filter(({ length }) => length >= MIN_IN_FILES);
  const forms = long.flatMap(secretForms).map((form) => Buffer.from(form).toString("latin1"));
  const mask = maskOf(forms);
  return async function* bytes(body) {
    let ready = "";
    const stream = mask.stream((piece) => {
      ready += piece;
    });
    const take = () => {
      const chunk = Buffer.from(ready, "latin1");
      ready = "";
      return chunk;
    };
    for await (const chunk of body) {
      stream.push(Buffer.from(chunk).toString("latin1"));
      yield take();
    }
    stream.end();
    yield take();
  };
}

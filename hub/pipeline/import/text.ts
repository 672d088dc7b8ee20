import { AppError, invalid } from "#shared/kit/errors.ts";
import { limitText } from "#shared/kit/words.ts";
import { IMPORT_LIMITS } from "#shared/protocol/schema/task-import.ts";

/** The text of a body, in pieces, without its byte order mark. @throws AppError too_large, invalid when it is not UTF-8 */
export async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let read = 0;
  const decode = (chunk?: Uint8Array) => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch {
      throw invalid(["body"], "is not UTF-8: save the file as UTF-8 and send it again");
    }
  };
  for await (const chunk of chunks) {
    read += chunk.byteLength;
    if (read > IMPORT_LIMITS.bytes)
      throw new AppError("too_large", `a file is at most ${limitText(IMPORT_LIMITS.bytes)}`);
    const text = decode(chunk);
    if (text !== "") yield text;
  }
  const rest = decode();
  if (rest !== "") yield rest;
}

/** The lines of a text, without their ends. @throws AppError invalid for a line that is too long */
export async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of text) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > IMPORT_LIMITS.row_bytes)
      throw invalid(["body"], `a line is longer than ${limitText(IMPORT_LIMITS.row_bytes)}`);
    yield* lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  }
  if (rest !== "") yield rest;
}

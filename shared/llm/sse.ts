/** No line of a stream may be longer: an image or an endless line is not an answer. */
const MAX_LINE = 4 * 1024 * 1024;

export interface SseReader {
  /** Any piece of the stream, cut anywhere, even inside a character. @throws RangeError for an endless line */
  push(chunk: Uint8Array): void;
  /** What is left when the stream ended without its last blank line. */
  end(): void;
}

/** Reads server-sent events: calls `onData` with the data of each. Other fields and comments are ignored. */
export function createSseReader(onData: (data: string) => void): SseReader {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  const dispatch = () => {
    if (data.length > 0) onData(data.join("\n"));
    data = [];
  };
  const takeLine = (line: string) => {
    if (line === "") dispatch();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  };
  const take = (text: string, last: boolean) => {
    rest += text;
    // A carriage return at the very end may be half of a line break.
    const lines = rest.split(last ? /\r\n|\n|\r/ : /\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) takeLine(line);
    if (rest.length > MAX_LINE) throw new RangeError("the stream has an endless line");
  };
  return {
    push: (chunk) => take(decoder.decode(chunk, { stream: true }), false),
    end: () => {
      take(decoder.decode(), true);
      takeLine(rest);
      dispatch();
    },
  };
}

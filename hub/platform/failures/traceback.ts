/** Tracebacks of Python and stacks of JavaScript engines, as they stand in an error or at the end of what was printed. */

const PYTHON = "Traceback (most recent call last):";
const PYTHON_FRAME = /^\s*File "([^"\n]{1,500})", line \d+(?:, in (\S{1,200}))?/;
const JS_FRAME =
  /^\s*at (?:async )?(?:new )?(?:(\S[^(\n]{0,199}?) \()?((?:file:\/\/)?[^\s()][^()\n]{0,500}?):\d+(?::\d+)?\)?$/;
/** Code that the failing task's owner did not write: the interpreter's, packages', and the worker's own runner. */
const FOREIGN =
  /(?:^|[\\/])(?:site-packages|dist-packages|node_modules|lib\/python\d[\d.]*)[\\/]|^<frozen |^(?:node|bun|native|internal|webpack|chrome-extension):|\bflotilla[^/\\]*[\\/](?:runner\.py|bun-runner\.\w+)$|(?:^|[\\/])(?:runner\.py|bun-runner\.m?[jt]s)$/;
/** Innermost frames that tell one failure from another. */
const FRAMES = 3;

const baseName = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

export const isFrame = (line: string): boolean => PYTHON_FRAME.test(line) || JS_FRAME.test(line);

/** The last traceback in `text`: of a chain of exceptions the one that was raised in the end. Null: there is none. */
export function tracebackIn(text: string): string | null {
  const python = text.lastIndexOf(PYTHON);
  if (python >= 0) return text.slice(python).trimEnd();
  const lines = text.split("\n");
  const last = lines.findLastIndex((line) => JS_FRAME.test(line));
  if (last < 0) return null;
  let first = last;
  while (first > 0 && JS_FRAME.test(lines[first - 1] ?? "")) first -= 1;
  // The message above the frames may have several lines; a blank one, or a line of the source that Bun quotes, is above.
  let head = Math.max(0, first - 1);
  while (head > 0 && first - head < 20 && /\S/.test(lines[head - 1] ?? "")) {
    if (/^\s*(?:\d+ \||\^)/.test(lines[head - 1] ?? "")) break;
    head -= 1;
  }
  return lines.slice(head, last + 1).join("\n");
}

/** `file:function` of the innermost frames of the task's own code, innermost first; without lines, which move. */
export function ownFrames(traceback: string): string[] {
  const python: string[] = [];
  const js: string[] = [];
  for (const line of traceback.split("\n")) {
    const [, file, name] = PYTHON_FRAME.exec(line) ?? [];
    if (file !== undefined && !FOREIGN.test(file)) python.push(`${baseName(file)}:${name ?? ""}`);
    const [, fn, path] = file === undefined ? (JS_FRAME.exec(line) ?? []) : [];
    if (path !== undefined && !FOREIGN.test(path)) js.push(`${baseName(path)}:${fn ?? ""}`);
  }
  // Python puts the innermost last.
  const own = python.length > 0 ? python.reverse() : js;
  // However deep a recursion went.
  return own.filter((frame, i) => frame !== own[i - 1]).slice(0, FRAMES);
}

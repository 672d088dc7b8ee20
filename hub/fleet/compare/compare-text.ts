import { structuredPatch } from "diff";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";
import type { TextCompared, TextHunk } from "#shared/protocol/schema/comparison.ts";
import type { PageText } from "../page-text/text-lines.ts";

type Patch = NonNullable<ReturnType<typeof structuredPatch>>;

/** Each distinct line has a number, so comparing two lines costs the same however long they are. */
function numberLines(before: string[], after: string[]) {
  const texts: string[] = [];
  const numbers = new Map<string, number>();
  /** How many more times a line is in the text after. */
  const surplus: number[] = [];
  const number = (line: string, weight: number): string => {
    let n = numbers.get(line);
    if (n === undefined) {
      n = texts.push(line) - 1;
      numbers.set(line, n);
      surplus.push(0);
    }
    surplus[n] = (surplus[n] ?? 0) + weight;
    return `${n}\n`;
  };
  const left = before.map((line) => number(line, -1)).join("");
  const right = after.map((line) => number(line, 1)).join("");
  const sum = (sign: 1 | -1) => surplus.reduce((all, n) => all + Math.max(0, sign * n), 0);
  return { left, right, texts, lines_gone: sum(-1), lines_new: sum(1) };
}

/** With a callback, the library lets the hub serve others after every round. */
const patchOf = (left: string, right: string): Promise<Patch | undefined> =>
  new Promise((resolve) => {
    structuredPatch("", "", left, right, "", "", {
      context: 3,
      maxEditLength: COMPARISON_LIMITS.edits,
      timeout: COMPARISON_LIMITS.diff_ms,
      callback: resolve,
    });
  });

/** The hunks with their texts, as many lines as may be shown. */
function hunksOf({ hunks }: Patch, texts: string[]): { hunks: TextHunk[]; hunks_cut: boolean } {
  let lines_left: number = COMPARISON_LIMITS.hunk_lines;
  let chars_left: number = COMPARISON_LIMITS.hunk_chars;
  const shown: TextHunk[] = [];
  for (const hunk of hunks) {
    const lines: string[] = [];
    for (const line of hunk.lines) {
      const text = `${line[0]}${texts[Number(line.slice(1))]}`;
      lines_left -= 1;
      chars_left -= text.length;
      if (lines_left < 0 || chars_left < 0) break;
      lines.push(text);
    }
    if (lines.length > 0)
      shown.push({
        before_start: hunk.oldStart,
        before_lines: hunk.oldLines,
        after_start: hunk.newStart,
        after_lines: hunk.newLines,
        lines,
      });
    if (lines.length < hunk.lines.length) return { hunks: shown, hunks_cut: true };
  }
  return { hunks: shown, hunks_cut: false };
}

const countOf = ({ hunks }: Patch, sign: string): number =>
  hunks.reduce((all, { lines }) => all + lines.filter((line) => line[0] === sign).length, 0);

/** What differs between the texts of two pages, as unified hunks (rules/comparison#text). */
export async function compareText(before: PageText, after: PageText): Promise<TextCompared> {
  const { left, right, texts, lines_gone, lines_new } = numberLines(before.lines, after.lines);
  const text_cut = before.cut || after.cut;
  const rest = { text_cut, hunks: [], hunks_cut: false, too_different: false };
  if (left === right) return { changed: false, lines_gone: 0, lines_new: 0, ...rest };
  // At least these have to go and come, so the search for fewer would be in vain.
  const hopeless = lines_gone + lines_new > COMPARISON_LIMITS.edits;
  const patch = hopeless ? undefined : await patchOf(left, right);
  if (!patch) return { changed: true, lines_gone, lines_new, ...rest, too_different: true };
  return {
    changed: true,
    lines_gone: countOf(patch, "-"),
    lines_new: countOf(patch, "+"),
    ...rest,
    ...hunksOf(patch, texts),
  };
}

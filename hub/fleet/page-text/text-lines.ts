import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";

export interface PageText {
  lines: string[];
  /** The page has more text than that. */
  cut: boolean;
}

/** Characters without a line break that are held until they become lines. */
const MAX_HELD = 16_384;

/** Where a line that is too long ends: at a blank if it has one, and never within a surrogate pair. */
function endOfLine(text: string, most: number): number {
  const blank = text.lastIndexOf(" ", most);
  if (blank > 0) return blank;
  const last = text.charCodeAt(most - 1);
  return last >= 0xd800 && last < 0xdc00 ? most - 1 : most;
}

/** Collects text into lines, within the limits of a comparison (rules/comparison#text). */
export class TextLines {
  readonly #lines: string[] = [];
  #held = "";
  #chars = 0;
  #cut = false;

  /** No more text is wanted. */
  get full(): boolean {
    return this.#cut;
  }

  add(text: string): void {
    this.#held += text;
    if (this.#held.length > MAX_HELD) this.endLine();
  }

  endLine(): void {
    if (this.#held === "") return;
    let rest = this.#held.replace(/\s+/g, " ").trim();
    this.#held = "";
    while (rest !== "" && !this.#cut) {
      const most = COMPARISON_LIMITS.line_chars;
      const end = rest.length > most ? endOfLine(rest, most) : rest.length;
      this.#push(rest.slice(0, end));
      rest = rest.slice(end).trimStart();
    }
  }

  #push(line: string): void {
    const { text_lines, text_chars } = COMPARISON_LIMITS;
    if (this.#lines.length === text_lines || this.#chars + line.length > text_chars) {
      this.#cut = true;
      return;
    }
    this.#lines.push(line);
    this.#chars += line.length;
  }

  end(): PageText {
    this.endLine();
    return { lines: this.#lines, cut: this.#cut };
  }
}

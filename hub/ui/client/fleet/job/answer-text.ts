/** Figures, dates and prices: what somebody who asked a question looks for first. */
const FIGURE = /(?:[€$£¥]\s?)?\d(?:[\d.,:/-]*\d)?(?:\s?%)?/g;
/** Of a text, so that a hostile answer cannot keep the page busy. */
const MOST_CHARACTERS = 4_000;

export interface Part {
  text: string;
  figure: boolean;
}

/** An answer in parts, its figures apart. */
export function partsOf(answer: string): Part[] {
  const text = answer.slice(0, MOST_CHARACTERS);
  const parts: Part[] = [];
  let at = 0;
  for (const { index, 0: found } of text.matchAll(FIGURE)) {
    if (index > at) parts.push({ text: text.slice(at, index), figure: false });
    parts.push({ text: found, figure: true });
    at = index + found.length;
  }
  if (at < answer.length) parts.push({ text: answer.slice(at), figure: false });
  return parts;
}

/** An answer as a person reads it: its one text, or its fields in a line. */
export function answerText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  if (typeof answer !== "object" || answer === null) return JSON.stringify(answer);
  if (Array.isArray(answer)) return JSON.stringify(answer);
  const entries = Object.entries(answer);
  const [first] = entries;
  if (entries.length === 1 && typeof first?.[1] === "string") return first[1];
  return entries
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ");
}

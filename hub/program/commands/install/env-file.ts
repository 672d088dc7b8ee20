/** Files of `EnvironmentFile=` as systemd.exec(5) reads them: comments, quotes, escapes and continued lines. */

/** A variable that the file sets in the lines [from, to). */
export interface Assignment {
  name: string;
  value: string;
  from: number;
  to: number;
}

const ASSIGNMENT = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/s;
const COMMENT = /^\s*([#;]|$)/;
/** Characters that a backslash escapes between double quotes; before others the backslash stays. */
const ESCAPED = '"\\`$';

interface Read {
  value: string;
  /** A quote is open, or a backslash ends the text. */
  goes_on: boolean;
}

/** The value of what follows `=`. */
function readValue(raw: string): Read {
  let value = "";
  /** Without trailing blanks, unless they are quoted. */
  let kept = 0;
  let quote: string | null = null;
  const take = (text: string) => {
    value += text;
    kept = value.length;
  };
  for (let i = 0; i < raw.length; i += 1) {
    const char = raw[i] ?? "";
    if (quote === "'") {
      if (char === "'") quote = null;
      else take(char);
    } else if (char === "\\") {
      const next = raw[i + 1];
      if (next === undefined) return { value, goes_on: true };
      i += 1;
      if (next === "\n") continue;
      take(quote === '"' && !ESCAPED.includes(next) ? `\\${next}` : next);
    } else if (quote === '"') {
      if (char === '"') quote = null;
      else take(char);
    } else if (char === '"' || char === "'") {
      quote = char;
      kept = value.length;
    } else if (/\s/.test(char)) value += value === "" ? "" : char;
    else take(char);
  }
  return { value: value.slice(0, kept), goes_on: quote !== null };
}

/** What `text` sets, in order; the last of several assignments of a name counts. */
function readAssignments(text: string): Assignment[] {
  const lines = text.split("\n");
  const found: Assignment[] = [];
  for (let from = 0; from < lines.length; ) {
    let to = from + 1;
    const first = lines[from] ?? "";
    const [, name, start = ""] = (COMMENT.test(first) ? null : ASSIGNMENT.exec(first)) ?? [];
    if (name !== undefined) {
      let raw = start;
      let read = readValue(raw);
      while (read.goes_on && to < lines.length) {
        raw += `\n${lines[to]}`;
        to += 1;
        read = readValue(raw);
      }
      found.push({ name, value: read.value, from, to });
    }
    from = to;
  }
  return found;
}

/** Values by name, as the service gets them. */
export const readEnvText = (text: string): Record<string, string> =>
  Object.fromEntries(readAssignments(text).map(({ name, value }) => [name, value]));

/** One word, or text in double quotes: anything else could be cut off at a blank or a quote. */
const quote = (value: string): string =>
  /^[A-Za-z0-9_./:@%+,=~-]*$/.test(value) ? value : `"${value.replace(/["\\$`]/g, "\\$&")}"`;

export const assignment = (name: string, value: string): string => `${name}=${quote(value)}`;

/** A commented line that shows a variable without setting it. */
const shows = (line: string, name: string): boolean =>
  line.replace(/^\s*[#;]\s*/, "#").startsWith(`#${name}=`);

/**
 * `text` with `values` set and the names of `unset` no longer set; comments, order and all other lines stay. A variable that
 * the file only shows is set in that place, and one that it does not mention comes last. An unset variable leaves
 * `#NAME=`: its value may be a secret.
 */
export function editEnvText(
  text: string,
  values: Record<string, string>,
  unset: readonly string[],
): string {
  const lines: (string | null)[] = text.replace(/\n+$/, "").split("\n");
  const there = readAssignments(text);
  const replace = ({ from, to }: Assignment, line: string | null) => {
    lines.fill(null, from, to);
    lines[from] = line;
  };
  for (const name of unset) {
    const [first, ...more] = there.filter((each) => each.name === name);
    if (first) replace(first, `#${name}=`);
    for (const each of more) replace(each, null);
  }
  for (const [name, value] of Object.entries(values)) {
    const line = assignment(name, value);
    const last = there.findLast((each) => each.name === name);
    const shown = lines.findIndex((each) => each !== null && shows(each, name));
    if (last) replace(last, line);
    else if (shown >= 0) lines[shown] = line;
    else lines.push(line);
  }
  return `${lines.filter((line) => line !== null).join("\n")}\n`;
}

/** A node of the accessibility tree as Playwright reports it (`ariaSnapshotJSON`, mode `ai`). */
export interface AriaNode {
  role: string;
  name?: string;
  ref?: string;
  /** Its own text, or the value of a field. */
  text?: string;
  url?: string;
  cursor?: string;
  level?: number;
  checked?: boolean | "mixed";
  disabled?: boolean;
  expanded?: boolean;
  pressed?: boolean | "mixed";
  selected?: boolean;
  active?: boolean;
  placeholder?: string;
  children?: (AriaNode | string)[];
}

export interface AriaText {
  text: string;
  /** Every ref that the text names. */
  refs: Set<string>;
}

/** Elements that a person operates; everything else is there to be read. */
const CONTROLS = new Set(
  "link button textbox searchbox combobox listbox option checkbox radio switch slider spinbutton tab menuitem menuitemcheckbox menuitemradio treeitem gridcell iframe dialog alertdialog".split(
    " ",
  ),
);
const FIELDS = new Set(["textbox", "searchbox", "spinbutton", "combobox", "slider"]);
const MAX_TEXT = 400;
const SHORT_TEXT = 80;

interface Line {
  depth: number;
  text: string;
  short: string;
  /** Whether it stays when only what matters most is kept. */
  matters: boolean;
  ref: string | null;
}

/**
 * The tree as indented lines: role, ref, name, value and state of each node; boxes without content are left out. A
 * tree that is too long is first shortened, then thinned out to controls and headings, then cut with a note.
 * @param mask removes secrets from a text
 */
export function ariaLines(
  roots: readonly (AriaNode | string)[],
  { max_chars, refs, mask }: { max_chars: number; refs: boolean; mask: (text: string) => string },
): AriaText {
  const lines = linesOf(roots, mask, (ref, control) => (refs && control ? ref : null));
  const thin = lines.filter((line) => line.matters);
  const versions = [
    lines.map((line) => write(line, line.text)),
    lines.map((line) => write(line, line.short)),
    thin.map((line) => write(line, line.short)),
  ];
  const fitting = versions.findIndex((v) => v.reduce((n, l) => n + l.length + 1, 0) <= max_chars);
  const kept = fitting === 2 || fitting === -1 ? thin : lines;
  const chosen = versions[fitting] ?? versions[2] ?? [];
  let left = max_chars;
  let count = 0;
  while (count < chosen.length) {
    left -= (chosen[count]?.length ?? 0) + 1;
    if (left < 0) break;
    count += 1;
  }
  const dropped = lines.length - count;
  const note = dropped > 0 ? [`[… ${dropped} more lines of the page left out]`] : [];
  return {
    text: [...chosen.slice(0, count), ...note].join("\n"),
    refs: new Set(kept.slice(0, count).flatMap(({ ref }) => (ref === null ? [] : [ref]))),
  };
}

/** A piece of the tree, beginning with the line `from_line` that counts from 0. */
export interface AriaPiece {
  text: string;
  /** How many lines the whole tree has. */
  lines: number;
  /** Where the next piece begins; null when this is the last. */
  next_line: number | null;
  /** Every ref of the whole tree. */
  refs: Set<string>;
}

/** The same lines, in pieces instead of thinned out, and with a ref for whatever has one: `[ref=e5]`. */
export function ariaPiece(
  roots: readonly (AriaNode | string)[],
  {
    max_chars,
    from_line,
    mask,
  }: { max_chars: number; from_line: number; mask: (text: string) => string },
): AriaPiece {
  const lines = linesOf(roots, mask, (ref) => `[ref=${ref}]`);
  const taken: string[] = [];
  let left = max_chars;
  for (const line of lines.slice(from_line)) {
    const text = write(line, line.text);
    left -= text.length + 1;
    // One line is there in any case, so that somebody who reads on gets to the end.
    if (left < 0 && taken.length > 0) break;
    taken.push(text);
  }
  const next = from_line + taken.length;
  return {
    text: taken.join("\n"),
    lines: lines.length,
    next_line: next < lines.length ? next : null,
    refs: new Set(lines.flatMap(({ ref }) => (ref === null ? [] : [ref]))),
  };
}

const write = ({ depth }: Line, text: string): string =>
  `${" ".repeat(Math.min(depth, 20))}${text}`;

/** How a ref is written; null leaves it out. */
type RefText = (ref: string, control: boolean) => string | null;

interface Collecting {
  lines: Line[];
  refText: RefText;
  mask: (text: string) => string;
}

function linesOf(
  roots: readonly (AriaNode | string)[],
  mask: (text: string) => string,
  refText: RefText,
): Line[] {
  const lines: Line[] = [];
  collect(roots, 0, { lines, refText, mask });
  return lines;
}

function collect(nodes: readonly (AriaNode | string)[], depth: number, to: Collecting): void {
  for (const node of nodes) {
    if (typeof node === "string") {
      const text = quoted(to.mask(node), MAX_TEXT);
      const short = quoted(to.mask(node), SHORT_TEXT);
      if (node.trim() !== "") to.lines.push({ depth, text, short, matters: false, ref: null });
      continue;
    }
    const clickable = node.cursor === "pointer";
    const says = node.name || node.text || node.role !== "generic" || clickable;
    if (says) to.lines.push(lineOf(node, depth, clickable, to));
    collect(node.children ?? [], says ? depth + 1 : depth, to);
  }
}

function lineOf(
  node: AriaNode,
  depth: number,
  clickable: boolean,
  { refText, mask }: Collecting,
): Line {
  const { role, name, text, url, ref = null } = node;
  const control = CONTROLS.has(role) || clickable;
  const shown = ref === null ? null : refText(ref, control);
  const states = ["checked", "disabled", "expanded", "pressed", "selected", "active"] as const;
  const told = states.filter((state) => node[state] !== undefined && node[state] !== false);
  const upTo = (max: number): string =>
    [
      role === "generic" ? "box" : role,
      node.level,
      shown,
      name ? quoted(mask(name), max) : null,
      text ? `${FIELDS.has(role) ? "= " : ""}${quoted(mask(text), max)}` : null,
      node.placeholder && !text ? `placeholder ${quoted(mask(node.placeholder), max)}` : null,
      ...told.map((state) => `[${node[state] === "mixed" ? `${state}=mixed` : state}]`),
      // As the page wrote it, line breaks and all: it must not look like another element.
      url ? `→ ${flat(mask(url)).slice(0, max)}` : null,
    ]
      .filter((part) => part !== null && part !== undefined)
      .join(" ");
  return {
    depth,
    ref: shown === null ? null : ref,
    text: upTo(MAX_TEXT),
    short: upTo(SHORT_TEXT),
    matters: control || role === "heading",
  };
}

const flat = (text: string): string => text.replace(/\s+/g, " ").trim();

function quoted(text: string, max: number): string {
  const one_line = flat(text);
  return JSON.stringify(one_line.length > max ? `${one_line.slice(0, max)}…` : one_line);
}

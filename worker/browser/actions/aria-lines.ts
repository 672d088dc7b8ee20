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
  const lines: Line[] = [];
  collect(roots, 0, { lines, refs, mask });
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

const write = ({ depth }: Line, text: string): string =>
  `${" ".repeat(Math.min(depth, 20))}${text}`;

interface Collecting {
  lines: Line[];
  refs: boolean;
  mask: (text: string) => string;
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
  { refs, mask }: Collecting,
): Line {
  const { role, name, text, url, ref = null } = node;
  const control = CONTROLS.has(role) || clickable;
  const shown = refs && control ? ref : null;
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
      url ? `→ ${mask(url).slice(0, max)}` : null,
    ]
      .filter((part) => part !== null && part !== undefined)
      .join(" ");
  return {
    depth,
    ref: shown,
    text: upTo(MAX_TEXT),
    short: upTo(SHORT_TEXT),
    matters: control || role === "heading",
  };
}

function quoted(text: string, max: number): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return JSON.stringify(flat.length > max ? `${flat.slice(0, max)}…` : flat);
}

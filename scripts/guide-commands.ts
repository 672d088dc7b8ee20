import { parsePage } from "#hub/guide/markdown.ts";

/** A block of shell commands of a page. */
export interface CommandBlock {
  /** Who runs it: empty for whoever pastes the page, `seeded` for the test of its heading. */
  mark: string;
  /** The anchor of the heading that it stands below. */
  section: string;
  /** Where it begins, from 1. */
  line: number;
  commands: string;
}

/** The blocks of a page that are marked `sh`, in their order. */
export function commandBlocks(text: string): CommandBlock[] {
  const blocks: CommandBlock[] = [];
  let section = "";
  for (const token of parsePage(text)) {
    if (token.type === "heading_open") section = String(token.attrGet("id") ?? "");
    if (token.type !== "fence" || !/^sh(\s|$)/.test(token.info)) continue;
    blocks.push({
      mark: token.info.replace(/^sh\s*/, "").trim(),
      section,
      line: (token.map?.[0] ?? 0) + 1,
      commands: token.content,
    });
  }
  return blocks;
}

import { join } from "node:path";

const README = join(import.meta.dir, "../README.md");

/** A part of the README that a script writes. */
export interface ReadmePart {
  is_current: boolean;
  write(): Promise<void>;
}

/** The part between the markers `name`, of which `script` makes `text`; ends the program where the README lacks the markers. */
export async function readmePart(name: string, script: string, text: string): Promise<ReadmePart> {
  const begin_mark = `<!-- ${name}:begin (scripts/${script}) -->`;
  const end_mark = `<!-- ${name}:end -->`;
  const readme = await Bun.file(README).text();
  const [begin, end] = [readme.indexOf(begin_mark), readme.indexOf(end_mark)];
  if (begin < 0 || end < begin) {
    console.error(`README.md lacks the markers ${begin_mark} … ${end_mark}`);
    process.exit(1);
  }
  const next = `${readme.slice(0, begin + begin_mark.length)}\n${text}\n${readme.slice(end)}`;
  return {
    is_current: next === readme,
    write: async () => void (await Bun.write(README, next)),
  };
}

/** A row of a Markdown table. */
export const tableRow = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** A text of the repository that a script writes. */
export interface Generated {
  is_current: boolean;
  write(): Promise<void>;
}

/** A file of the repository, all of it. */
export const generatedFile = async (path: string, next: string): Promise<Generated> => {
  const file = Bun.file(join(ROOT, path));
  return {
    is_current: (await file.exists()) && (await file.text()) === next,
    write: async () => void (await Bun.write(file, next)),
  };
};

/** A whole page of the guide, `hub/guide/<page>.md`, of which `script` makes the text. */
export const generatedPage = (page: string, lines: readonly string[]): Promise<Generated> =>
  generatedFile(`hub/guide/${page}.md`, `${lines.join("\n")}\n`);

/** The part of the README between the markers `name`; ends the program where the README lacks them. */
export async function readmePart(name: string, script: string, text: string): Promise<Generated> {
  const begin_mark = `<!-- ${name}:begin (scripts/${script}) -->`;
  const end_mark = `<!-- ${name}:end -->`;
  const readme = await Bun.file(join(ROOT, "README.md")).text();
  const [begin, end] = [readme.indexOf(begin_mark), readme.indexOf(end_mark)];
  if (begin < 0 || end < begin) {
    console.error(`README.md lacks the markers ${begin_mark} … ${end_mark}`);
    process.exit(1);
  }
  return generatedFile(
    "README.md",
    `${readme.slice(0, begin + begin_mark.length)}\n${text}\n${readme.slice(end)}`,
  );
}

/**
 * Writes what is generated, or with `--check` ends the program with 1 where it is out of date or `wrong` names a fault.
 */
export async function writeOrCheck(all: readonly Generated[], wrong: readonly string[] = []) {
  if (!process.argv.includes("--check")) {
    for (const part of all) await part.write();
    return;
  }
  const stale = all.some((part) => !part.is_current);
  const faults = [
    ...wrong,
    ...(stale ? ["A generated file is out of date. Run: bun run gen"] : []),
  ];
  for (const line of faults) console.error(line);
  process.exit(faults.length === 0 ? 0 : 1);
}

/** A row of a Markdown table. */
const tableRow = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** A Markdown table. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  tableRow(head),
  `|${"---|".repeat(head.length)}`,
  ...rows.map(tableRow),
];

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ATTACK_LISTS } from "#test/attack/lists/index.ts";
import { readmePart, tableRow } from "./readme-part.ts";

/**
 * Writes the README's table of attacks: from the lists that the suite works off, and of files without one from their tests.
 * `--check` only compares, and looks whether SECURITY.md names every file of the suite, and none that is not there.
 */

const ROOT = join(import.meta.dir, "..");
const SUITE = "test/attack";

interface Row {
  what: string;
  tried: number;
  /** Each on every one of these; `tests`: so many tests of the file. */
  on?: string | undefined;
  file: string;
}

const filesOfSuite = (): string[] =>
  readdirSync(join(ROOT, SUITE))
    .filter((name) => name.endsWith(".test.ts"))
    .sort();

/** What the file says of itself, and how many tests it declares. */
function rowOfTests(file: string): Row {
  const text = readFileSync(join(ROOT, SUITE, file), "utf8");
  const [, about = ""] = /^\/\*\*([\s\S]*?)\*\//m.exec(text) ?? [];
  const what = about.replace(/\s*\n \*\s*/g, " ").trim();
  if (what === "") throw new Error(`${SUITE}/${file} does not say what it attacks`);
  const tried = text.match(/^ *(await )?test\w*(\.\w+)?\(/gm)?.length ?? 0;
  return { what: what.replace(/(?<=[a-z)`])\.( .*)?$/, ""), tried, on: "tests", file };
}

function rows(): Row[] {
  const listed = ATTACK_LISTS.map(({ what, file, attempts, on }) => ({
    ...{ what, file, on },
    tried: attempts.length,
  }));
  const names = new Set(listed.map(({ what }) => what));
  if (names.size !== listed.length) throw new Error("two lists of attacks have one name");
  const with_list = new Set(listed.map(({ file }) => file));
  const others = filesOfSuite().filter((file) => !with_list.has(file));
  return [...listed, ...others.map(rowOfTests)];
}

/** The table as it stands in the README, markers not included. */
function attackTable(): string {
  const lines = rows().map(({ what, tried, on, file }) => {
    const many = on === "tests" ? ` ${on}` : on === undefined ? "" : `, on ${on}`;
    const cells = [what, `${tried}${many}`, "all", `[${file}](${SUITE}/${file})`];
    return tableRow(cells);
  });
  return ["| What is tried | Tried | Refused | By |", "|---|---|---|---|", ...lines].join("\n");
}

/** What SECURITY.md leaves out of the suite, or invents. */
function wrongInSecurity(): string[] {
  const text = readFileSync(join(ROOT, "SECURITY.md"), "utf8");
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file = ""]) => file);
  return [
    ...filesOfSuite()
      .filter((file) => !named.includes(file))
      .map((file) => `SECURITY.md does not say what ${SUITE}/${file} shows to hold`),
    ...named
      .filter((file) => !existsSync(join(ROOT, SUITE, file)))
      .map((file) => `SECURITY.md names ${file}, which is not there`),
  ];
}

if (import.meta.main) {
  const part = await readmePart("attack-table", "gen-attack-table.ts", attackTable());
  if (process.argv.includes("--check")) {
    const wrong = wrongInSecurity();
    if (!part.is_current)
      wrong.push("The README's table of attacks is out of date. Run: bun run gen");
    for (const line of wrong) console.error(line);
    process.exit(wrong.length === 0 ? 0 : 1);
  }
  await part.write();
}

import { join } from "node:path";
import { ATTACK_LISTS } from "#test/attack/lists/index.ts";

/** Writes the README's table of attacks from the lists that the suite works off; `--check` only compares. */

const README = join(import.meta.dir, "../README.md");
const BEGIN = "<!-- attack-table:begin (scripts/gen-attack-table.ts) -->";
const END = "<!-- attack-table:end -->";

/** The table as it stands in the README, markers not included. */
function attackTable(): string {
  const rows = ATTACK_LISTS.map(({ what, file, attempts, on }) => {
    const on_each = on === undefined ? "" : ` on ${on}`;
    const path = file.includes("/") ? file : `test/attack/${file}`;
    const cells = [what, `${attempts.length}${on_each}`, "all", `[${file}](${path})`];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  const names = new Set(ATTACK_LISTS.map(({ what }) => what));
  if (names.size !== rows.length) throw new Error("two lists of attacks have one name");
  const sum = ATTACK_LISTS.reduce((all, { attempts }) => all + attempts.length, 0);
  return [
    "| What is tried | Tried | Refused | By |",
    "|---|---|---|---|",
    ...rows,
    `| together, what is tried on several counted once | ${sum} | all | \`./scripts/test attack\` |`,
  ].join("\n");
}

if (import.meta.main) {
  const readme = await Bun.file(README).text();
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (begin < 0 || end < begin) {
    console.error(`README.md lacks the markers ${BEGIN} … ${END}`);
    process.exit(1);
  }
  const next = `${readme.slice(0, begin + BEGIN.length)}\n${attackTable()}\n${readme.slice(end)}`;
  if (process.argv.includes("--check")) {
    if (next !== readme)
      console.error("The README's table of attacks is out of date. Run: bun run gen");
    process.exit(next === readme ? 0 : 1);
  }
  await Bun.write(README, next);
}

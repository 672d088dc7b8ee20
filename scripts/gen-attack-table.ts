import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ATTACK_LISTS } from "#test/attack/lists/index.ts";
import { generatedPage, readmePart, table, writeOrCheck } from "./generated-page.ts";

/**
 * Writes the guide's page of attacks and the README's shorter table: from the lists that the suite works off, and of files without
 * one from their tests.
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
    what,
    file,
    on,
    tried: attempts.length,
  }));
  const names = new Set(listed.map(({ what }) => what));
  if (names.size !== listed.length) throw new Error("two lists of attacks have one name");
  const with_list = new Set(listed.map(({ file }) => file));
  const others = filesOfSuite().filter((file) => !with_list.has(file));
  return [...listed, ...others.map(rowOfTests)];
}

/** Paths are those of the repository: the page is read in the program too, where there are no tests to link to. */
const attackTable = (all: readonly Row[]): string[] =>
  table(
    ["What is tried", "Tried", "Refused", "By"],
    all.map(({ what, tried, on, file }) => {
      const many = on === "tests" ? ` ${on}` : on === undefined ? "" : `, on ${on}`;
      return [what, `${tried}${many}`, "all", `\`${SUITE}/${file}\``];
    }),
  );

const PAGE = [
  "# What was attacked",
  "",
  "This page lists every attack that the test suite tries against the running program, how often, and where.",
  "",
  "`./scripts/test attack` tries all of them and ends with their number. `SECURITY.md` says in three sentences what holds, which tests attack it, and what does not hold. The table is generated from the lists that the suite works off (`bun run gen`).",
  "",
];

/** Who attacks, in the README's words, and the lists of attempts that are theirs, by their files. */
const ATTACKERS: readonly (readonly [string, readonly string[]])[] = [
  [
    "Scripts, agents, recipes and injected models that steer a lane: at the hub",
    ["lane-to-hub.test.ts"],
  ],
  [
    "Pages and extensions in a lane: at the hub, metadata services, files and their own browser",
    ["egress.test.ts", "lane-page.test.ts", "extensions.test.ts", "floods.test.ts"],
  ],
  ["CDP clients: at the machine and Chromium's own pages", ["cdp.test.ts", "webdriver.test.ts"]],
  [
    "Callers: names in paths and queries, bodies and nested JSON, on every route that takes them",
    ["hostile-names.test.ts", "hostile-bodies.test.ts", "deep-json.test.ts"],
  ],
  [
    "Other sites, foreign host names, smuggled requests, slow and broken clients",
    [
      "hosts.test.ts",
      "origins.test.ts",
      "visits.test.ts",
      "smuggling.test.ts",
      "slow-clients.test.ts",
    ],
  ],
  [
    "What was captured, opened on the hub: files, titles, names and headers",
    ["asset-types.test.ts", "hostile-answers.test.ts"],
  ],
  ["System calls of sandboxed scripts", ["script-sandbox.test.ts"]],
];
const OTHERS = "Tokens, logins, links, secrets at rest, updates, archives, proxies, VNC";

/** The README's table: attempts of the lists, each counted once however many routes it is tried on. */
function totals(all: readonly Row[]): string[] {
  const sum = (of: readonly Row[]) => of.reduce((n, { tried }) => n + tried, 0);
  const many = (n: number) => n.toLocaleString("en");
  const listed = all.filter(({ on }) => on !== "tests");
  const others = all.filter(({ on }) => on === "tests");
  const told = ATTACKERS.flatMap(([, files]) => files);
  const untold = listed.find(({ file }) => !told.includes(file));
  if (untold) throw new Error(`no attacker of the README's table has ${untold.file}`);
  const files = new Set(all.map(({ file }) => file)).size;
  return [
    "",
    ...table(
      ["Who attacks what", "Tried", "Refused"],
      [
        ...ATTACKERS.map(([who, files]) => {
          const tried = sum(listed.filter(({ file }) => files.includes(file)));
          return [who, many(tried), "all"];
        }),
        [OTHERS, `${many(sum(others))} tests`, "all"],
      ],
    ),
    "",
    `These are ${many(sum(listed))} listed attacks, many of them on every route, and ${many(sum(others))} further tests, in ${files} files: [what was attacked](hub/guide/design/security-attacks.md), one by one.`,
  ];
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
  const all = rows();
  const parts = await Promise.all([
    generatedPage("design/security-attacks", [...PAGE, ...attackTable(all)]),
    readmePart("attack-totals", "gen-attack-table.ts", totals(all).join("\n")),
  ]);
  await writeOrCheck(parts, wrongInSecurity());
}

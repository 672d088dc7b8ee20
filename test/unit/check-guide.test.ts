import { expect, test } from "bun:test";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { judgeGuide } from "../../scripts/check-guide.ts";

/** The check of the guide's links and citations, on a small guide that is whole and on one fault at a time. */

const WHOLE: Record<string, string> = {
  "hub/guide/index.md":
    "# G\n\nx\n\n## Rules\n\n- [Jobs](rules/jobs.md): what a job is.\n- [Files](rules/files.md): what a file is.\n",
  "hub/guide/rules/jobs.md":
    "# Jobs\n\nWhat a job is.\n\n## Its states\n\nSee [files](files.md#names) and [the API](/docs).\n\n```sh\ntrue\n```\n",
  "hub/guide/rules/files.md": "# Files\n\nWhat a file is.\n\n## Names\n\n[Up](../index.md#rules)\n",
  "README.md":
    "# R\n\n[a](hub/guide/rules/jobs.md#its-states) [b](#r) [c](https://a.test/) ![d](p.png)\n",
  "hub/a.ts": '/** (rules/jobs#its-states) */\nconst at = "/guide/rules/files#names";\n',
};
const judge = (changes: Record<string, string> = {}, others = ["p.png"]) => {
  const texts = new Map(Object.entries({ ...WHOLE, ...changes }));
  return judgeGuide(texts, (path) => texts.has(path) || others.includes(path));
};
const page = (text: string) => ({
  "hub/guide/rules/files.md": `# Files\n\nA file.\n\n## Names\n\n${text}\n`,
});

test("a guide that is whole has nothing to mend", () => {
  expect(judge()).toEqual([]);
});

test.each([
  [
    "a link to no page",
    page("[x](none.md)"),
    "the link none.md leads nowhere: there is no such file",
  ],
  [
    "a link to no heading",
    page("[x](jobs.md#none)"),
    "hub/guide/rules/jobs.md has no such heading",
  ],
  ["a link to no heading of its own", page("[x](#none)"), "the link #none leads nowhere"],
  ["a link out of the guide", page("[x](../../../README.md)"), "links to pages of the guide alone"],
  ["a link to no address", page("[x](/nothing)"), "no server of this program has such an address"],
  [
    "a picture that is not there",
    { "README.md": "# R\n\n![x](none.png)\n" },
    "none.png leads nowhere",
  ],
  [
    "a page that is not listed",
    { "hub/guide/start/a.md": "# A\n\nB.\n" },
    "hub/guide/start/a.md is not in",
  ],
  [
    "a listed page that is not there",
    { "hub/guide/index.md": `${WHOLE["hub/guide/index.md"]}- [X](x.md): y.\n` },
    "the link x.md leads nowhere",
  ],
  [
    "a page that is listed twice",
    { "hub/guide/index.md": `${WHOLE["hub/guide/index.md"]}- [X](rules/jobs.md): y.\n` },
    "lists hub/guide/rules/jobs.md twice",
  ],
  [
    "a page without a sentence",
    { "hub/guide/rules/jobs.md": "# Jobs\n\n## Its states\n" },
    "does not begin with a title and a sentence",
  ],
  ["a page with two titles", page("# Again"), "more than one title"],
  ["code without a language", page("```\nx\n```"), "the code at line 7 does not say its language"],
  ["HTML", page("a <br> b"), "it has HTML: <br>"],
  [
    "a mark that nobody knows",
    page("```sh later\nx\n```"),
    'nothing is known of the mark "later" at line 7',
  ],
  [
    "commands that are left to no test",
    page("```sh seeded\nx\n```"),
    "no test runs the seeded commands at line 7",
  ],
  [
    "a rule that is not there",
    { "hub/b.ts": "// (rules/jobs#none)" },
    "hub/b.ts: rules/jobs#none leads nowhere",
  ],
  [
    "a page of rules that is not there",
    { "test/b.ts": "// rules/none#a" },
    "there is no hub/guide/rules/none.md",
  ],
  [
    "an address that no page has",
    { "hub/b.ts": 'const a = "/guide/rules/none";' },
    '"/guide/rules/none" leads nowhere',
  ],
])("%s is told", (_, changes: Record<string, string>, told: string) => {
  const problems = judge(changes);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(told);
});

const CLI = "test/e2e/cli-examples.test.ts";
const INSTALL = "test/ops/lan/install.test.ts";
/** A page that is listed, with one block of commands below each of its headings. */
const commands = (path: string, marks: Record<string, string>) => ({
  "hub/guide/index.md": `${WHOLE["hub/guide/index.md"]}- [C](${path}): c.\n`,
  [`hub/guide/${path}`]: `# C\n\nc\n${Object.entries(marks)
    .map(([heading, mark]) => `\n## ${heading}\n\n\`\`\`${mark}\nflotilla retry JOB\n\`\`\`\n`)
    .join("")}`,
});

test("seeded commands of a page need the test that runs them, and that test needs them", () => {
  const cli = (mark: string) => commands("reference/cli.md", { Retry: mark });
  const runner = { [CLI]: 'seeded("reference/cli.md")' };
  expect(judge({ ...cli("sh seeded"), ...runner })).toEqual([]);
  expect(judge(cli("sh seeded"))).toEqual([
    `hub/guide/reference/cli.md: ${CLI}, which runs its seeded commands, is not there`,
  ]);
  expect(judge({ ...cli("sh seeded"), [CLI]: 'seeded("reference/cli")' })).toEqual([
    `hub/guide/reference/cli.md: ${CLI}, which runs its seeded commands, does not name "reference/cli.md"`,
  ]);
  expect(judge({ ...cli("sh"), ...runner })).toEqual([
    `hub/guide/reference/cli.md: it has no seeded commands for ${CLI}`,
  ]);
});

test("a page has no commands that nobody runs", () => {
  expect(judge(commands("how-to/c.md", { Own: "sh", Idle: "sh no-run" }))).toEqual([
    'hub/guide/how-to/c.md: nothing is known of the mark "no-run" at line 13',
  ]);
});

test("several tests may share a page: each heading with seeded commands needs its own", () => {
  const path = "how-to/upgrades.md";
  const older = "test/ops/lan/upgrade-from.test.ts";
  const tests = {
    [INSTALL]: `seeded("${path}#upgrade"); seeded("${path}#rollback")`,
    [older]: `seeded("${path}#from-an-older-version")`,
  };
  const marks = {
    Upgrade: "sh seeded",
    Rollback: "sh seeded",
    "From an older version": "sh seeded",
    Others: "sh",
  };
  const told = (changed: Record<string, string>, others: Record<string, string> = tests) =>
    judge({ ...commands(path, { ...marks, ...changed }), ...others });
  expect(told({})).toEqual([]);
  expect(told({ Others: "sh seeded" })).toEqual([
    `hub/guide/${path}: no test runs the seeded commands at line 25`,
  ]);
  expect(told({ Rollback: "sh" })).toEqual([
    `hub/guide/${path}: it has no seeded commands below #rollback for ${INSTALL}`,
  ]);
  expect(told({}, { [INSTALL]: tests[INSTALL] ?? "" })).toEqual([
    `hub/guide/${path}: ${older}, which runs its seeded commands below #from-an-older-version, is not there`,
  ]);
  expect(told({}, { ...tests, [INSTALL]: `seeded("${path}#upgrade")` })).toEqual([
    `hub/guide/${path}: ${INSTALL}, which runs its seeded commands below #rollback, does not name "${path}#rollback"`,
  ]);
});

test("a test reads the seeded commands of its heading, and fails when there are others than it knows", () => {
  const [commands = ""] = seededBlocks("how-to/backup.md#with-sqlite", 1);
  expect(commands).toContain("flotilla restore ");
  expect(() => seededBlocks("how-to/backup.md#with-sqlite", 2)).toThrow(
    "how-to/backup.md#with-sqlite has 1 seeded blocks, and this test knows 2",
  );
  expect(() => seededBlocks("how-to/backup.md#nothing", 1)).toThrow("has 0 seeded blocks");
});

test("lines that cite other texts are told; RFCs and the guide's own chapters are none", () => {
  const sign = String.fromCharCode(0xa7);
  const lines = [
    `// ${sign}4.2`,
    `// (fleet ${"spec"} ${sign}1)`,
    `// RFC 9110 ${sign}14`,
    `// (R${3})`,
    "// design/decisions/security.md",
    `// (${"design"}/api.md)`,
    `// ${"research"} ${sign}3, pain 10`,
    "// what research says",
  ];
  const told = judge({ "hub/b.ts": lines.join("\n") }).map((problem) => problem.split(" ")[0]);
  expect(told).toEqual([1, 2, 4, 6, 7].map((line) => `hub/b.ts:${line}`));
  expect(judge(page("[Up](../design/a.md)")).join()).not.toContain("not here");
});

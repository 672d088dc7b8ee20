import { describe, expect, test } from "bun:test";
import { checkScript } from "#hub/fleet/runner/check-script.ts";
import { prepareScript } from "#hub/fleet/runner/prepare-script.ts";
import { SCRIPT_API } from "#hub/fleet/runner/script-api.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { MAX_CODE_BYTES } from "#shared/protocol/limits.ts";

const HEAD = 'import { session, save, log } from "flotilla";\n';
/** Problems of a script that begins with the import, lines counted after it. */
const problemsOf = (code: string) =>
  checkScript(HEAD + code).map(({ line, message }) => `${(line ?? 1) - 1}: ${message}`);

describe("checkScript (rules/scripts#check-before-a-run)", () => {
  test("accepts what scripts are made of", () => {
    const code = `
enum Size { Small = 1 }
type Row = { process: string; document: Document };
interface Fetch extends Array<Row> { window: number }
class Reader { static all: Row[] = []; #n = 0; get n() { return this.#n; } }
const read = () => [...document.querySelectorAll("li")].map((e) => e.textContent);
function scrollDown(by: number) { window.scrollBy(0, by); }
const rows = (await session.evaluate(read)) as string[];
await session.evaluate(scrollDown, 300);
await session.evaluate(async () => (await fetch("/api")).json());
await session.evaluate("document.title");
outer: for (const [i, row] of rows.entries()) { if (i > Size.Small) break outer; void log(row!, new Reader().n); }
const { process: renamed, ...rest } = { process: 1, eval: 2 };
try { await session.click("a", { timeout_s: 1 }); } catch (err) { await log((err as Error).message, { rest, renamed }); }
await Promise.all([session.text("h1"), session.links()]);
await session.fill("#password", \`\${rows[0]}\`);
await session.recipe([{ kind: "fill", selector: "#password", text: "\${ENV:PASSWORD}" }]);
const token = rows.find((row) => row.startsWith("t"));
setTimeout(() => {}, 1); structuredClone(rows); new URL("http://a.b"); Buffer.from("x"); btoa("x");
await save("rows.json", { rows, token });
export default async function run({ session: given }: { session: typeof session }) { return given.text(); }
`;
    expect(problemsOf(code)).toEqual([]);
  });

  test.each([
    ["const x = ;", ["1: Unexpected token"]],
    ['import fs from "node:fs";', ['1: only "flotilla" can be imported, not "node:fs"']],
    ['export * from "./other.ts";', ['1: only "flotilla" can be imported, not "./other.ts"']],
    ['const x = await import("node:fs");', ['1: only "flotilla" can be imported, not node:fs']],
    [
      'import { page } from "flotilla";',
      ['1: "flotilla" has no page: it has session, goal, job, save, log, SessionError'],
    ],
    [
      'import all from "flotilla";',
      ['1: "flotilla" has no default export: import { session } from "flotilla"'],
    ],
    ["\nprocess.exit(1);", ["2: process is not for scripts"]],
    [
      'await fetch("http://a.b");',
      [
        "1: fetch is not for scripts: a script reaches the browser through session, and nothing else",
      ],
    ],
    ['const fs = require("fs");', ['1: require is not for scripts: import only from "flotilla"']],
    [
      'eval("1");',
      ["1: eval is not for scripts: code that is made while it runs cannot be checked"],
    ],
    [
      'new Function("return 1")();',
      ["1: Function is not for scripts: code that is made while it runs cannot be checked"],
    ],
    [
      '(() => {}).constructor("return 1");',
      ["1: calling a constructor by that name makes code that cannot be checked"],
    ],
    [
      "await log(document.title);",
      ["1: document exists only in the page: use it inside session.evaluate(() => …)"],
    ],
    ['await page.click("a");', ["1: page does not exist: use session"]],
    ["await job.url;", ['1: job is not imported: import { job } from "flotilla"']],
    ["helper();", ["1: helper is not defined"]],
    ['await session.goto("http://a.b");', ["1: session.goto does not exist: use navigate"]],
    [
      'await session.selectOption("#a", "b");',
      ["1: session.selectOption does not exist: use select_option"],
    ],
    ["await session.fly();", ["1: session.fly does not exist"]],
    ['session.click("a");', ["1: session.click(…) is not awaited: write await"]],
  ])("%p", (code, problems) => {
    expect(problemsOf(code)).toEqual(problems);
  });

  test("finds secrets that are written down, with the way to do without", () => {
    const found = problemsOf(
      [
        'await session.fill("#password", "hunter22");',
        'await session.fill({ selector: "input[name=passwd]", text: "hunter22" });',
        'const apiKey = "0123456789";',
        'const options = { auth_token: "0123456789" };',
        'await log("ghp_abcdefghijklmnopqrstuvwxyz0123456789");',
        'await session.fill("#q", "passwords for cats");',
        'const password_selector = "#password";',
      ].join("\n"),
    );
    expect(found.map((line) => line.replace(/ is written into.*/, ""))).toEqual([
      ...["1: a password", "2: a password", "3: apiKey", "4: auth_token", "5: a GitHub token"],
    ]);
    expect(found[0]).toContain("ENV:NAME");
    expect(found.join()).not.toContain("hunter22");
  });

  test("more than 200 KB, counted in bytes, and nothing at all are refused (rules/scripts#script-module)", () => {
    const umlauts = `// ${"ü".repeat(MAX_CODE_BYTES / 2)}`;
    expect(checkScript(umlauts)).toEqual([
      { line: null, message: `the script has more than ${MAX_CODE_BYTES} bytes` },
    ]);
    expect(checkScript(" \n")).toEqual([{ line: null, message: "the script is empty" }]);
  });
});

describe("prepareScript (rules/scripts#result-of-a-script)", () => {
  const last = (code: string) => prepareScript(code).replace(code, "=");

  test("exports the value awaited last, without moving a line", () => {
    expect(last("const a = await x();")).toBe("=;export default (a);");
    expect(last("const a: string[] = await x();\nlog(a);")).toBe(
      "const a: string[] = await x();;export default (a);\nlog(a);",
    );
    expect(last("let a;\na = await x();")).toBe("=;export default (a);");
    expect(last("await x();")).toBe("export default (await x());");
    expect(last("await x();\nawait save('a', 1);\nawait log(1);")).toBe(
      "export default (await x());\nawait save('a', 1);\nawait log(1);",
    );
    expect(last("export const a = await x();")).toBe("=;export default (a);");
  });

  test("leaves alone what has a default export, awaits nothing or cannot be parsed", () => {
    for (const code of [
      "await x();\nexport default 1;",
      "const a = 1;\nexport { a as default };",
      "async function f() { await x(); }\nvoid f();",
      "const [a] = await x();",
      "const a = ;\nawait x();",
    ])
      expect(prepareScript(code)).toBe(code);
  });
});

test("SCRIPT_API declares every action of a session, and none that does not exist", () => {
  const session = /export const session: \{([\s\S]*?)\n {2}\};/.exec(SCRIPT_API)?.[1] ?? "";
  const declared = [...session.matchAll(/^ {4}(\w+)[(<]/gm)].map(([, name]) => name as string);
  expect([...new Set(declared)].sort()).toEqual(Object.keys(SESSION_ACTIONS).sort());
});

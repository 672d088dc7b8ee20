import { addressCode } from "./addresses.ts";
import { type ChosenStep, nameOf, selectorOf, startOf, type Written } from "./chosen.ts";
import { addressOf, type DoneStep, planTabs, type TabMove } from "./tabs.ts";

const text = (value: unknown): string => JSON.stringify(value);
const unquoted = (quoted: string): string => quoted.slice(1, -1).replace(/\\(.)/g, "$1");

const FORMS: [RegExp, (match: RegExpExecArray) => string][] = [
  [
    /^role=([a-z]+)\[name=("(?:[^"\\]|\\.)*")\]$/,
    ([, role = "", name = ""]) =>
      `getByRole(${text(role)}, { name: ${text(unquoted(name))}, exact: true })`,
  ],
  [
    /^label=("(?:[^"\\]|\\.)*")$/,
    ([, label = ""]) => `getByLabel(${text(unquoted(label))}, { exact: true })`,
  ],
  [
    /^text=("(?:[^"\\]|\\.)*")$/,
    ([, words = ""]) => `getByText(${text(unquoted(words))}, { exact: true })`,
  ],
  [/^\[data-testid=("(?:[^"\\]|\\.)*")\]$/, ([, id = ""]) => `getByTestId(${text(unquoted(id))})`],
  [
    /^\[placeholder=("(?:[^"\\]|\\.)*")\]$/,
    ([, words = ""]) => `getByPlaceholder(${text(unquoted(words))}, { exact: true })`,
  ],
];

/** A selector as Playwright's people write it. */
export function locatorCode(selector: string): string {
  for (const [form, write] of FORMS) {
    const match = form.exec(selector);
    if (match) return write(match);
  }
  return `locator(${text(selector)})`;
}

/** How a tab is named in the code: the first is `page`. */
type Names = (tab: number) => string;

/** What selects an element; Playwright refuses a locator that several elements match. */
function elementCode(step: Extract<DoneStep, { selectors: unknown }>, page: string): string {
  const frames = step.frame.map((one) => {
    const code = locatorCode(one);
    return code.startsWith("locator(") ? `.frameLocator(${text(one)})` : `.${code}.contentFrame()`;
  });
  const selector = selectorOf(step);
  const matches = step.selectors.find((one) => one.selector === selector)?.matches ?? 1;
  return `${page}${frames.join("")}.${locatorCode(selector)}${matches > 1 ? ".first()" : ""}`;
}

const fromEnv = (variable: string): string => `process.env.${variable} ?? ""`;
const encoded = (variable: string): string => `encodeURIComponent(${fromEnv(variable)})`;

function lineOf(step: DoneStep, page: string, notes: string[]): string {
  if (step.kind === "navigate") return `await ${page}.goto(${addressCode(step, encoded)});`;
  if (step.kind === "scroll") return `await ${page}.mouse.wheel(0, ${step.amount});`;
  const on = elementCode(step, page);
  switch (step.kind) {
    case "click":
      return step.click_count > 1
        ? `await ${on}.click({ clickCount: ${step.click_count} });`
        : `await ${on}.click();`;
    case "fill":
      return `await ${on}.fill(${step.secret ? fromEnv(step.secret.variable) : text(step.text)});`;
    case "select_option":
      if (step.values.length === 0)
        notes.push(`What was chosen in “${nameOf(step)}” is a secret: put it into the code.`);
      return `await ${on}.selectOption(${text(step.values)});`;
    case "check":
    case "uncheck":
      return `await ${on}.${step.kind}();`;
    case "press":
      return `await ${on}.press(${text(step.key)});`;
    case "upload":
      notes.push(`Put the paths of the files for “${nameOf(step)}” into the code.`);
      return `await ${on}.setInputFiles(${text(step.files)});`;
  }
}

function moveLines(move: TabMove, nameIn: Names): string[] {
  const page = nameIn(move.tab);
  if (move.kind === "close")
    return [
      "// It may close by itself.",
      `await ${page}.waitForEvent("close", { timeout: 5_000 }).catch(() => ${page}.close());`,
    ];
  const goto = move.url === null ? [] : [`await ${page}.goto(${text(move.url)});`];
  return [`const ${page} = await context.newPage();`, ...goto];
}

/** Whoever waits for a tab begins before the step that opens it: it may be there at once. */
function withOpened(line: string, opens: readonly number[], nameIn: Names): string[] {
  const waits = opens.map((tab, i) => {
    const earlier = opens[i - 1];
    const wait = 'context.waitForEvent("page")';
    return `const ${nameIn(tab)}Opened = ${earlier === undefined ? wait : `${nameIn(earlier)}Opened.then(() => ${wait})`};`;
  });
  const pages = opens.map((tab) => `const ${nameIn(tab)} = await ${nameIn(tab)}Opened;`);
  return [...waits, line, ...pages];
}

/** The steps as code of a Playwright program. */
export function toPlaywright(steps: readonly ChosenStep[]): Written<string> {
  const { starts_at } = startOf(steps);
  const notes: string[] = [];
  const planned = planTabs(steps);
  const first = planned[0]?.step;
  const nameIn: Names = (tab) => (tab === steps[0]?.tab ? "page" : `page${tab}`);
  const start = first === undefined ? null : addressOf(first);
  const lines = [
    "const browser = await chromium.launch();",
    "const context = await browser.newContext();",
    "const page = await context.newPage();",
    ...(start === null ? [] : [`await page.goto(${text(start)});`]),
    ...planned.flatMap(({ moves, step, opens }) => [
      ...moves.flatMap((move) => moveLines(move, nameIn)),
      ...withOpened(lineOf(step, nameIn(step.tab), notes), opens, nameIn),
    ]),
    "await browser.close();",
  ];
  const body = `import { chromium } from "playwright";\n\n${lines.join("\n")}\n`;
  return { starts_at, body, notes };
}

import { type ChosenStep, nameOf, selectorOf, startOf, type Written } from "./chosen.ts";

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

function lineOf(step: ChosenStep, page: string, notes: string[]): string {
  if (step.kind === "navigate") return `await ${page}.goto(${text(step.url)});`;
  if (step.kind === "scroll") return `await ${page}.mouse.wheel(0, ${step.amount});`;
  if (step.kind === "tab") return `const page${step.tab} = context.pages()[${step.tab}]!;`;
  const frames = step.frame.map((one) => `.frameLocator(${text(one)})`).join("");
  const on = `${page}${frames}.${locatorCode(selectorOf(step))}`;
  switch (step.kind) {
    case "click":
      return step.click_count > 1
        ? `await ${on}.click({ clickCount: ${step.click_count} });`
        : `await ${on}.click();`;
    case "fill":
      return `await ${on}.fill(${step.secret ? `process.env.${step.secret.variable} ?? ""` : text(step.text)});`;
    case "select_option":
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

/** The steps as code of a Playwright program. */
export function toPlaywright(steps: readonly ChosenStep[]): Written<string> {
  const { starts_at } = startOf(steps);
  const notes: string[] = [];
  const first = steps[0]?.tab ?? 0;
  const lines = steps.map((step) =>
    lineOf(step, step.tab === first ? "page" : `page${step.tab}`, notes),
  );
  const open =
    "const browser = await chromium.launch();\nconst context = await browser.newContext();\nconst page = await context.newPage();";
  const body = `import { chromium } from "playwright";\n\n${open}\n${lines.join("\n")}\nawait browser.close();\n`;
  return { starts_at, body, notes };
}

import { describe, expect, test } from "bun:test";
import type { ChosenStep } from "#hub/ui/client/fleet/session/recorded/chosen.ts";
import { locatorCode, toPlaywright } from "#hub/ui/client/fleet/session/recorded/to-playwright.ts";
import { toPython } from "#hub/ui/client/fleet/session/recorded/to-python.ts";
import { toRecipe } from "#hub/ui/client/fleet/session/recorded/to-recipe.ts";
import { toScript } from "#hub/ui/client/fleet/session/recorded/to-script.ts";
import { RecipeAction } from "#shared/protocol/schema/recipe.ts";

const at = { tab: 0, page: "https://shop.test/" };
const on = (selector: string, frame: string[] = []) => ({
  ...at,
  role: "button",
  name: "It",
  selectors: [{ by: "css" as const, selector, matches: 1 }],
  frame,
});
const placeholder = ["$", "{ENV:SHOP_PASSWORD}"].join("");
const secret = { variable: "SHOP_PASSWORD", host: "shop.test" };

const STEPS: ChosenStep[] = [
  { id: 1, kind: "navigate", ...at, url: "https://shop.test/login?next=1" },
  { id: 2, kind: "fill", ...on('label="Say \\"hi\\""'), text: 'a "b"\n', secret: null },
  { id: 3, kind: "fill", ...on("#pw", ["iframe"]), text: placeholder, secret },
  { id: 4, kind: "click", ...on("#x"), selector: 'role=button[name="Go"]', click_count: 2 },
  { id: 5, kind: "select_option", ...on("select"), values: ["m"] },
  { id: 6, kind: "check", ...on("#ok") },
  { id: 7, kind: "press", ...on("#q"), key: "Enter" },
  { id: 8, kind: "upload", ...on("#file"), files: ["a.txt"] },
  { id: 9, kind: "tab", ...at, tab: 1, opened_by: "page" },
  { id: 10, kind: "scroll", ...at, tab: 1, amount: 400 },
];

describe("what recorded steps are written as (rules/recorded-input#what-steps-become)", () => {
  test("a recipe has what it can say, all of it valid, and says what it left out", () => {
    const { starts_at, body, notes } = toRecipe(STEPS);
    expect(starts_at).toBe("https://shop.test/login?next=1");
    expect(body.map((action) => RecipeAction.parse(action))).toEqual([
      { kind: "fill", selector: 'label="Say \\"hi\\""', text: 'a "b"\n' },
      { kind: "fill", selector: "#pw", frame: ["iframe"], text: placeholder },
      { kind: "click", selector: 'role=button[name="Go"]', click_count: 2 },
      { kind: "select_option", selector: "select", values: ["m"] },
      { kind: "check", selector: "#ok" },
      { kind: "press", selector: "#q", key: "Enter" },
    ]);
    expect(notes).toEqual([
      "A recipe holds no files: “It” gets none.",
      "A recipe stays in its tab: the steps of another one are left to a script.",
    ]);
  });

  test("a script and the code of Playwright parse, and none of them holds a secret", () => {
    const parse = new Bun.Transpiler({ loader: "ts" });
    for (const { body } of [toScript(STEPS), toPlaywright(STEPS)])
      expect(parse.scan(body).imports.map(({ path }) => path)).toHaveLength(1);
    expect(toScript(STEPS).body).toContain(
      `await session.recipe([{"kind":"fill","selector":"#pw","frame":["iframe"],"text":"${placeholder}"}]);`,
    );
    expect(toPlaywright(STEPS).body).toContain(
      'await page.frameLocator("iframe").locator("#pw").fill(process.env.SHOP_PASSWORD ?? "");',
    );
    expect(toPython(STEPS).body).toContain(
      'session.fill(selector="#pw", frame=["iframe"], text=os.environ["SHOP_PASSWORD"])',
    );
  });

  test("a text that says true stays a text in Python", () => {
    const step: ChosenStep = {
      id: 1,
      kind: "fill",
      ...on("#a"),
      text: "true or null",
      secret: null,
    };
    expect(toPython([step]).body).toContain('text="true or null"');
  });

  test.each([
    ['role=button[name="A \\"b\\""]', 'getByRole("button", { name: "A \\"b\\"", exact: true })'],
    ['label="Email"', 'getByLabel("Email", { exact: true })'],
    ['[data-testid="go"]', 'getByTestId("go")'],
    ["form > button", 'locator("form > button")'],
  ])("%s is %s for Playwright", (selector, code) => {
    expect(locatorCode(selector)).toBe(code);
  });
});

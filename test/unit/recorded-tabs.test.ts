import { describe, expect, test } from "bun:test";
import type { ChosenStep } from "#hub/ui/client/fleet/session/recorded/chosen.ts";
import { toPlaywright } from "#hub/ui/client/fleet/session/recorded/to-playwright.ts";
import { toPython } from "#hub/ui/client/fleet/session/recorded/to-python.ts";
import { toScript } from "#hub/ui/client/fleet/session/recorded/to-script.ts";

/** How written programs find the tabs of the steps (rules/recorded-input#what-steps-become). */

const page = "https://shop.test/";
const selectorsOf = (id: number) => [{ by: "css" as const, selector: `#b${id}`, matches: 1 }];
const click = (id: number, tab: number, more: object = {}): ChosenStep => ({
  id,
  kind: "click",
  tab,
  page,
  role: "button",
  name: "It",
  frame: [],
  click_count: 1,
  selectors: selectorsOf(id),
  ...more,
});
const start: ChosenStep = { id: 1, kind: "navigate", tab: 0, page, url: page };
const popup = (id: number, tab: number, more: object = {}): ChosenStep => ({
  id,
  kind: "tab",
  tab,
  page,
  opened_by: "page",
  ...more,
});
const back = (id: number, more: object = {}): ChosenStep => ({
  id,
  kind: "tab",
  tab: 0,
  page,
  opened_by: "person",
  ...more,
});

const linesOf = (body: string): string[] => body.trim().split("\n");
/** What a Playwright program does after it has opened its first page. */
const doneBy = (steps: ChosenStep[]): string[] => {
  const lines = linesOf(toPlaywright(steps).body);
  return lines.slice(lines.findIndex((line) => line.startsWith("const page =")) + 1, -1);
};
const scriptOf = (steps: ChosenStep[]): string[] => linesOf(toScript(steps).body).slice(2);

const POPUP = [
  start,
  click(2, 0),
  click(3, 0),
  popup(4, 1, { opener_step: 2 }),
  click(5, 1),
  back(6, { closed: [1] }),
  click(7, 0),
  click(8, 0, { frame: ['label="Box"', "iframe"] }),
];

describe("a window that a page opens", () => {
  test("is waited for before the step that opens it, and is declared once", () => {
    expect(doneBy(POPUP)).toEqual([
      'await page.goto("https://shop.test/");',
      'const page1Opened = context.waitForEvent("page");',
      'await page.locator("#b2").click();',
      "const page1 = await page1Opened;",
      'await page.locator("#b3").click();',
      'await page1.locator("#b5").click();',
      "// It may close by itself.",
      'await page1.waitForEvent("close", { timeout: 5_000 }).catch(() => page1.close());',
      'await page.locator("#b7").click();',
      'await page.getByLabel("Box", { exact: true }).contentFrame().frameLocator("iframe").locator("#b8").click();',
    ]);
  });

  test("becomes the active tab of a session, which goes back where the steps do", () => {
    const lines = scriptOf(POPUP);
    expect(lines.slice(lines.indexOf("};") + 2)).toEqual([
      'await session.click("#b2", { wait_for: "popup" });',
      'await session.tab("select", 0);',
      'await session.click("#b3");',
      'await session.tab("select", 1);',
      'await session.click("#b5");',
      "await closed(1, 2);",
      'await session.tab("select", 0);',
      'await session.click("#b7");',
      'await session.click("#b8", { frame: ["label=\\"Box\\"","iframe"] });',
    ]);
    expect(toPython(POPUP).body).toContain(
      [
        '    session.click(selector="#b2", wait_for="popup")',
        '    session.tab(op="select", index=0)',
        '    session.click(selector="#b3")',
        '    session.tab(op="select", index=1)',
        '    session.click(selector="#b5")',
        "    closed(session, 1, 2)",
      ].join("\n"),
    );
  });

  test("and another one by the same step are waited for one after the other", () => {
    const two = [
      ...[start, click(2, 0), popup(3, 1, { opener_step: 2 }), click(4, 1)],
      ...[popup(5, 2, { opener_step: 2 }), click(6, 2)],
    ];
    expect(doneBy(two).slice(1, 4)).toEqual([
      'const page1Opened = context.waitForEvent("page");',
      'const page2Opened = page1Opened.then(() => context.waitForEvent("page"));',
      'await page.locator("#b2").click();',
    ]);
    expect(scriptOf(two)).toContain("await opened(3);");
  });

  test("is that of the last click where the worker does not tell, also for a key", () => {
    const press = click(2, 0, { kind: "press", key: "Enter" });
    const steps = [start, press, popup(3, 1), click(4, 1)];
    expect(doneBy(steps)).toContain("const page1 = await page1Opened;");
    expect(scriptOf(steps).slice(-4)).toEqual([
      'await session.press("#b2", "Enter");',
      "await opened(2);",
      'await session.tab("select", 1);',
      'await session.click("#b4");',
    ]);
  });

  test("is opened at its address when the step that opened it was taken out, or there was none", () => {
    for (const opener_step of [2, null]) {
      const steps = [start, popup(3, 1, { opener_step }), click(4, 1)];
      expect(doneBy(steps).slice(1, 3)).toEqual([
        "const page1 = await context.newPage();",
        'await page1.goto("https://shop.test/");',
      ]);
      expect(scriptOf(steps)[0]).toBe('await session.tab("new", "https://shop.test/");');
    }
  });
});

describe("a tab of a person", () => {
  const NEW: ChosenStep[] = [
    start,
    { id: 2, kind: "tab", tab: 1, page: "", opened_by: "person" },
    { id: 3, kind: "navigate", tab: 1, page, url: `${page}new` },
    back(4),
    click(5, 0),
    { id: 6, kind: "tab", tab: 1, page, opened_by: "person" },
    click(7, 1),
  ];
  test("is opened once, and gone back to", () => {
    expect(doneBy(NEW)).toEqual([
      'await page.goto("https://shop.test/");',
      "const page1 = await context.newPage();",
      'await page1.goto("https://shop.test/new");',
      'await page.locator("#b5").click();',
      'await page1.locator("#b7").click();',
    ]);
    expect(scriptOf(NEW)).toEqual([
      'await session.tab("new");',
      'await session.navigate("https://shop.test/new");',
      'await session.tab("select", 0);',
      'await session.click("#b5");',
      'await session.tab("select", 1);',
      'await session.click("#b7");',
    ]);
  });

  test("is declared once, whatever the steps say", () => {
    // One that steps name again after it was closed, and steps without the change of the tab between them.
    const odd = [
      ...NEW,
      back(8, { closed: [1, 7] }),
      click(9, 1),
      back(10, { closed: [1] }),
      click(11, 0),
    ];
    const body = toPlaywright(odd).body;
    const names = [...body.matchAll(/const (\w+)/g)].map(([, name]) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(body.match(/page1\.close/g)).toHaveLength(1);
    expect(new Bun.Transpiler({ loader: "ts" }).scan(body).imports).toHaveLength(1);
  });
});

test("what begins in the middle of a page goes there, and one of several elements is named as such", () => {
  const many = { selectors: [{ by: "css", selector: "li", matches: 3 }] };
  expect(doneBy([click(2, 4, many)])).toEqual([
    'await page.goto("https://shop.test/");',
    'await page.locator("li").first().click();',
  ]);
  const secret = { kind: "select_option", values: [] };
  expect(toPlaywright([click(2, 0, secret)]).notes).toHaveLength(1);
});

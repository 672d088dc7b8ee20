import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { systemClock } from "#shared/kit/clock.ts";
import { Recipe, type RecipeAction } from "#shared/protocol/schema/recipe.ts";
import { type LanePages, openLanePages } from "#test/support/rigs/lane-pages.ts";
import { type RecipeSite, startRecipeSite } from "#test/support/servers/site/recipes.ts";
import { runRecipe } from "#worker/browser/actions/recipe.ts";

setDefaultTimeout(180_000);

/** Steps that fail, one after the other on one page of one lane. */
let site: RecipeSite;
let lane: LanePages;
let page: Page;
beforeAll(async () => {
  site = await startRecipeSite();
  lane = await openLanePages();
}, 180_000);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

type Actions = RecipeAction[];

async function run(actions: Actions, timeout_s = 60, secrets = {}): Promise<string[]> {
  const lines: string[] = [];
  page = await lane.newPage();
  await page.goto(`${site.origin}/covered`);
  await runRecipe({
    page,
    name: "recipe",
    actions,
    timeout_s,
    secrets,
    secret_hosts: { PASS: [new URL(site.origin).hostname] },
    clock: systemClock,
    hide: () => () => {},
    onStep: (line) => lines.push(line),
    afterClick: async () => {},
  });
  return lines;
}

const failures: [string, Actions, number, string][] = [
  [
    "a selector that matches nothing",
    [
      { kind: "wait", selector: "#under" },
      { kind: "click", selector: "#missing" },
    ],
    2,
    "recipe failed at step 2/2 click #missing: no element matches; timeout_s of the recipe (2 s) is over",
  ],
  [
    "a selector that is none",
    [{ kind: "click", selector: "p >> >> [[" }],
    60,
    "recipe failed at step 1/1 click p >> >> [[: the selector is not valid",
  ],
  [
    "an unknown selector engine",
    [{ kind: "fill", selector: "nonsense=1", text: "entered-text" }],
    60,
    "recipe failed at step 1/1 fill nonsense=1: the selector is not valid",
  ],
  [
    "an endless wait",
    [{ kind: "wait", selector: "#never", timeout_s: 3600 }],
    0.5,
    "recipe failed at step 1/1 wait #never: no element matches; timeout_s of the recipe (0.5 s) is over",
  ],
  [
    "a wait with a time of its own",
    [{ kind: "wait", selector: "#unseen", timeout_s: 1.5 }],
    60,
    "recipe failed at step 1/1 wait #unseen: the element is not visible; not there within 1.5 s",
  ],
  [
    "an element under another",
    [{ kind: "click", selector: "#under" }],
    2,
    "another element covers it",
  ],
  ["a disabled element", [{ kind: "click", selector: "#off" }], 2, "the element is disabled"],
  [
    "a key that does not exist",
    [{ kind: "press", key: "NoSuchKey" }],
    60,
    'recipe failed at step 1/1 press NoSuchKey: Unknown key: "NoSuchKey"',
  ],
  [
    "a script that throws",
    [{ kind: "evaluate", code: "undefinedName()" }],
    60,
    "recipe failed at step 1/1 evaluate: undefinedName is not defined",
  ],
  [
    "a script that never ends",
    [{ kind: "evaluate", code: "new Promise(() => {})" }],
    0.5,
    "recipe failed at step 1/1 evaluate: timeout_s of the recipe (0.5 s) is over",
  ],
  [
    "a page that cannot be reached",
    [{ kind: "navigate", url: "http://127.0.0.1:9/" }],
    60,
    "recipe failed at step 1/1 navigate http://127.0.0.1:9/: ",
  ],
];

describe("steps of a recipe that fail (rules/recipes#failed-steps)", () => {
  for (const [name, actions, timeout_s, error] of failures)
    test(`${name} is told in a sentence that names the step`, async () => {
      const thrown = await run(actions, timeout_s).then(
        () => "nothing thrown",
        (err: Error) => err.message,
      );
      expect(thrown).toContain(error);
      expect(thrown).not.toContain("entered-text");
      expect(thrown.split("\n")).toHaveLength(1);
    });

  test("values of secrets are in no line and no error, however the page writes them", async () => {
    const value = 'pa ss"w/ord';
    const secrets = { PASS: value };
    const placeholder = "$" + "{ENV:PASS}";
    const typed: Actions = [
      { kind: "fill", selector: "#field", text: `x${placeholder}` },
      { kind: "type", text: placeholder },
    ];
    const lines = await run(
      [
        ...typed,
        { kind: "evaluate", code: "globalThis.typed = document.querySelector('#field').value" },
      ],
      60,
      secrets,
    );
    expect(await page.inputValue("#field")).toBe(`x${value}${value}`);
    expect(lines.join()).not.toContain("ord");
    for (const code of [
      "throw new Error('it is ' + document.querySelector('#field').value)",
      "throw new Error(encodeURIComponent(document.querySelector('#field').value))",
      "throw new Error(JSON.stringify(document.querySelector('#field').value))",
    ]) {
      const thrown = await run([...typed, { kind: "evaluate", code }], 60, secrets).catch(String);
      expect(thrown).toContain("***");
      expect(thrown).not.toMatch(/w.{0,4}ord/);
    }
  });

  test("every recipe of the schema's limits is refused before it gets here: files, endless waits, no steps of its own", () => {
    const parse = (action: unknown) => Recipe.safeParse({ actions: [action] }).success;
    expect(parse({ kind: "navigate", url: "file:///etc/passwd" })).toBe(false);
    expect(parse({ kind: "navigate", url: "javascript:alert(1)" })).toBe(false);
    expect(parse({ kind: "navigate", url: "/relative" })).toBe(false);
    expect(parse({ kind: "wait", selector: "#x", timeout_s: 1e9 })).toBe(false);
    expect(parse({ kind: "wait" })).toBe(false);
    expect(parse({ kind: "click", selector: "" })).toBe(false);
    expect(parse({ kind: "click", selector: "#x", text: "y" })).toBe(false);
    expect(parse({ kind: "download", url: "http://a.test/" })).toBe(false);
  });
});

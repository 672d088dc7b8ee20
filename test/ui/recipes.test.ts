import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { KINDS } from "#hub/ui/client/fleet/host/recipe-fields.ts";
import type { Host } from "#shared/protocol/schema/host.ts";
import { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The recipe builder of the admin UI, and its dry run in a real browser (rules/recipes#actions). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const hostOf = (name: string) => rig.api<Host>("GET", `/hosts/${name}`);
const sessions = async () =>
  (await rig.api<{ sessions: { session_id: string }[] }>("GET", "/sessions")).sessions.map(
    ({ session_id }) => session_id,
  );

test("the builder has a form for every kind of step and every field of it (rules/web-app#forms-of-the-app)", () => {
  const schema = z.toJSONSchema(RecipeAction, { io: "input", unrepresentable: "any" }) as {
    oneOf: { properties: Record<string, { const?: string }>; required: string[] }[];
  };
  const fields = Object.fromEntries(
    schema.oneOf.map(({ properties: { kind, ...rest } }) => [
      kind?.const,
      Object.keys(rest).sort(),
    ]),
  );
  const forms = Object.entries(KINDS).map(([kind, form]) => [
    kind,
    Object.keys(form.fields).sort(),
  ]);
  expect(Object.fromEntries(forms)).toEqual(fields);
});

test("steps of every kind are added, filled in, moved by buttons, keys and mouse, and saved (rules/recipes#actions)", async () => {
  await rig.api("PUT", "/hosts/d-build.example", {});
  await using ui = await rig.open("/ui/library/hosts/d-build.example");
  const { page } = ui;
  await page.getByRole("button", { name: "New recipe" }).click();
  await page.getByLabel("Paths").fill("/gallery/*");
  await page.getByLabel("Description").fill("<img src=x onerror=alert(1)>");
  const texts: Record<string, Record<string, string>> = {
    Wait: { Selector: "#a", "At most (s)": "2.5" },
    Click: { Selector: "#b" },
    Fill: { Selector: "#c", Text: "text" },
    Type: { Text: "typed" },
    Press: { Key: "Enter" },
    Scroll: { "Amount (px)": "300" },
    Navigate: { URL: "https://d-build.example/next" },
    Evaluate: { Code: "return 1" },
  };
  for (const [i, [kind, fields]] of Object.entries(texts).entries()) {
    await page.getByRole("button", { name: "Add a step" }).click();
    await page.getByRole("menuitem", { name: new RegExp(`^${kind} `) }).click();
    for (const [label, text] of Object.entries(fields))
      await page.getByLabel(`Step ${i + 1}: ${label}`, { exact: true }).fill(text);
  }
  const kinds = () =>
    page
      .getByRole("combobox", { name: /^Step \d+: kind$/ })
      .evaluateAll((all) => all.map((one) => (one as unknown as { value: string }).value));
  await ui.judge();
  await page.getByRole("button", { name: "Move step 8 up" }).click();
  expect((await kinds()).slice(-2)).toEqual(["evaluate", "navigate"]);
  await page.getByLabel("Step 7: Code").press("Alt+ArrowUp");
  expect((await kinds()).slice(-3)).toEqual(["evaluate", "scroll", "navigate"]);
  await page.locator('[data-grip="5"]').dragTo(page.getByRole("listitem", { name: "Step 5" }));
  await until("it was dropped", 60_000, async () => (await kinds())[4] === "evaluate");
  await page.getByRole("button", { name: "Copy step 3" }).click();
  await page.getByRole("button", { name: "Remove step 2" }).click();
  await page.getByRole("button", { name: "Save recipe" }).click();
  await page.getByRole("table", { name: "Recipes" }).getByText("/gallery/*").waitFor();
  expect((await hostOf("d-build.example")).recipes).toMatchObject([
    {
      pattern: "/gallery/*",
      description: "<img src=x onerror=alert(1)>",
      actions: [
        { kind: "wait", selector: "#a", timeout_s: 2.5 },
        { kind: "fill", selector: "#c", text: "text" },
        { kind: "fill", selector: "#c", text: "text" },
        { kind: "type", text: "typed" },
        { kind: "evaluate", code: "return 1" },
        { kind: "press", key: "Enter" },
        { kind: "scroll", amount: 300 },
        { kind: "navigate", url: "https://d-build.example/next" },
      ],
    },
  ]);
  await rig.api("DELETE", "/hosts/d-build.example");
});

test("what the API refuses is said at its field; JSON and steps show the same (rules/web-app#forms-of-the-app)", async () => {
  await rig.api("POST", "/hosts/d-json.example/recipes", {
    actions: [{ kind: "wait", selector: "#first", timeout_s: 5 }],
  });
  await using ui = await rig.open("/ui/library/hosts/d-json.example?recipe=0");
  const { page } = ui;
  await page.getByLabel("Step 1: Selector").fill("");
  await page.getByRole("button", { name: "Save recipe" }).click();
  await page.getByText("It was not saved").waitFor();
  const field = page.getByLabel("Step 1: Selector");
  await until(
    "the field is marked",
    60_000,
    async () => (await field.getAttribute("aria-invalid")) === "true",
  );
  await ui.judge(/422/);
  await page.getByText("JSON", { exact: true }).click();
  const json = page.getByRole("textbox", { name: "JSON" });
  expect(JSON.parse(await json.inputValue()).actions).toEqual([
    { kind: "wait", selector: "", timeout_s: 5 },
  ]);
  await json.fill("{");
  await page.getByText("Not applied").waitFor();
  await json.fill('{"pattern": "/b", "actions": [{"kind": "press", "key": "Escape"}]}');
  await page.getByText("Steps", { exact: true }).first().click();
  expect(await page.getByLabel("Step 1: Key").inputValue()).toBe("Escape");
  expect(await page.getByLabel("Paths").inputValue()).toBe("/b");
  await page.getByRole("button", { name: "Save recipe" }).click();
  const table = page.getByRole("table", { name: "Recipes" });
  await table.getByText("/b", { exact: true }).waitFor();
  const recipes = async () => (await hostOf("d-json.example")).recipes;
  expect(await recipes()).toMatchObject([{ actions: [{ kind: "press", key: "Escape" }] }]);

  await page.getByRole("button", { name: "Switch off recipe 1" }).click();
  await table.getByText("not used").waitFor();
  expect((await recipes())[0]?.enabled).toBe(false);
  await page.getByRole("button", { name: "Switch on recipe 1" }).click();
  await table.getByText("in use").waitFor();
  await page.getByRole("button", { name: "Copy recipe 1" }).click();
  await page.getByRole("button", { name: "Delete recipe 2" }).waitFor();
  expect(await recipes()).toHaveLength(2);
  await ui.judge(/422/);
  await page.getByRole("button", { name: "Delete recipe 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete recipe 2" }).waitFor({ state: "detached" });
  expect(await recipes()).toMatchObject([{ description: "Copy of /b" }]);
  await rig.api("DELETE", "/hosts/d-json.example");
});

test("a recipe that somebody else changed meanwhile is not overwritten (rules/hosts#replace-a-host)", async () => {
  await rig.api("POST", "/hosts/d-race.example/recipes", { pattern: "/mine" });
  await using ui = await rig.open("/ui/library/hosts/d-race.example?recipe=0");
  const { page } = ui;
  await page.getByLabel("Description").fill("mine");
  await rig.api("PUT", "/hosts/d-race.example", { recipes: [{ pattern: "/theirs" }] });
  await page.getByRole("button", { name: "Save recipe" }).click();
  await page.getByText("Somebody else has changed").waitFor();
  expect((await hostOf("d-race.example")).recipes).toMatchObject([{ pattern: "/theirs" }]);
  await page.getByRole("button", { name: "Back to the list" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
  await page.getByText("/theirs").waitFor();
  await rig.api("DELETE", "/hosts/d-race.example");
});

test("a dry run does the steps in a live browser, tells which failed, and its session ends with the page (rules/session-actions#recipe-in-a-session)", async () => {
  await rig.api("PUT", "/hosts/127.0.0.1", {});
  const before = await sessions();
  await using ui = await rig.open("/ui/library/hosts/127.0.0.1?tab=login");
  const { page } = ui;
  await page.getByRole("button", { name: "Write a login recipe" }).click();
  await page.getByRole("textbox", { name: "JSON" }).waitFor({ state: "detached" });
  await page.getByText("JSON", { exact: true }).click();
  await page.getByRole("textbox", { name: "JSON" }).fill(
    JSON.stringify({
      logged_in: "#go",
      timeout_s: 120,
      actions: [
        { kind: "fill", selector: "#name", text: "somebody" },
        { kind: "wait", selector: "#missing", timeout_s: 1 },
        { kind: "click", selector: "#go" },
      ],
    }),
  );
  await page.getByText("Steps", { exact: true }).first().click();
  const panel = page.getByRole("region", { name: "Dry run" });
  await panel.getByLabel("Page", { exact: true }).fill(`${rig.site}/form`);
  await panel.getByRole("button", { name: "Open a session" }).click();
  await panel.getByTitle(/^Screen of session/).waitFor();
  const [sid] = (await sessions()).filter((one) => !before.includes(one));
  expect(sid).toBeDefined();

  await panel.getByRole("button", { name: "Run all steps" }).click();
  const step = (n: number) => page.getByRole("listitem", { name: `Step ${n}` });
  await step(1).getByRole("img", { name: "The page after step 1" }).waitFor();
  await step(2).getByText("no element matches").waitFor();
  await step(2).getByText("failed").waitFor();
  expect(await step(3).getByRole("img", { name: "The page after step 3" }).count()).toBe(0);
  await ui.judge(/422|504|408/);

  await page.getByLabel("Step 2: Selector").fill("#go");
  await page.getByLabel("Step 2: At most (s)").fill("10");
  await step(2).getByText("failed").waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "Run the next step" }).click();
  await step(2).getByText("Ok", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Run step 3" }).click();
  await step(3).getByText("Ok", { exact: true }).waitFor();
  const { result } = await rig.api<{ result: unknown }>("POST", `/sessions/${sid}/evaluate`, {
    code: "return document.querySelector('#name').value",
  });
  expect(result).toBe("somebody");
  const recording = panel.getByRole("link", { name: "See the recording of these steps" });
  expect(await recording.getAttribute("href")).toBe(`/ui/browsers/${sid}?show=recording`);
  await step(1).getByRole("button", { name: "The page after step 1, larger" }).click();
  await page.getByRole("dialog", { name: "The page after step 1" }).waitFor();
  await page.keyboard.press("Escape");
  await panel.getByRole("button", { name: "Open the page again" }).click();
  await step(3).getByText("Ok", { exact: true }).waitFor({ state: "detached" });

  await page.route(`**/sessions/${sid}`, (route) => route.abort(), { times: 1 });
  await panel.getByRole("button", { name: "End session" }).click();
  await page.getByText("The session was not ended").waitFor();
  expect(await sessions()).toContain(sid ?? "");

  await page.getByRole("button", { name: "Save login recipe" }).click();
  await page.getByText("The login recipe was saved").waitFor();
  expect((await hostOf("127.0.0.1")).login_recipe).toMatchObject({
    ...{ logged_in: "#go", timeout_s: 120 },
    actions: [{ kind: "fill" }, { kind: "wait", selector: "#go" }, { kind: "click" }],
  });
  await page.getByRole("button", { name: "Remove login recipe" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByRole("heading", { name: "No login recipe" }).waitFor();
  expect((await hostOf("127.0.0.1")).login_recipe).toBeNull();
  await until("the session is gone", 60_000, async () => !(await sessions()).includes(sid ?? ""));
  await rig.api("DELETE", "/hosts/127.0.0.1");
});

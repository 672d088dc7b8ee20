import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Picked, RecordedInput } from "#shared/protocol/schema/recorded-input.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import type { Skill } from "#shared/protocol/schema/skill.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** What a person does in the viewer, as steps beside it (rules/recorded-input). */

setDefaultTimeout(180_000);

let rig: UiRig;
let sid: string;

beforeAll(async () => {
  rig = await uiRig();
  const body = { url: `${rig.site}/form`, headless: true };
  sid = (await rig.api<Session>("POST", "/sessions", body)).session_id;
});
afterAll(() => rig.api("DELETE", `/sessions/${sid}`).catch(() => {}));

const recorded = () => rig.api<RecordedInput>("GET", `/sessions/${sid}/record-input`);

test("clicks and keys in the viewer become steps, which are tried and saved as a recipe", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`, { width: 1440, height: 900 });
  const { page } = ui;
  await page.getByRole("button", { name: "Record my clicks" }).click();
  const viewer = page.frameLocator("iframe");
  await viewer.getByText("Connected", { exact: true }).waitFor();
  await page.getByText("You drive").waitFor();
  const steps = page.getByRole("list", { name: "Recorded steps" });
  await steps.getByText("Go to").waitFor();
  await viewer.locator("canvas").focus();
  const code = 'document.querySelector("#name").focus()';
  await rig.api("POST", `/sessions/${sid}/evaluate`, { code });
  await page.keyboard.type("Ada");
  await steps.getByText("Ada", { exact: true }).waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Stop recording" }).click();
  await until("the end of the recording", 60_000, async () => !(await recorded()).on);
  await page.getByRole("button", { name: "Try from step 1" }).click();
  await steps.getByText(/^Done/).nth(1).waitFor();
  await page.getByText("Playwright", { exact: true }).click();
  await page.getByText("await page").first().waitFor();
  await page.getByText("Recipe", { exact: true }).click();
  await page.getByRole("button", { name: "Save recipe" }).click();
  const dialog = page.getByRole("dialog", { name: "Save the steps" });
  await dialog.getByRole("textbox", { name: "Host" }).fill("recorded.example");
  await dialog.getByRole("textbox", { name: "Description" }).fill("Say who it is");
  await ui.judge();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const saved = page.getByRole("alert").filter({ hasText: "Recipe saved" });
  await saved.getByRole("link", { name: "Show it" }).click();
  await page.waitForURL("**/ui/library/hosts/recorded.example?recipe=0");
  await page.getByRole("heading", { level: 1, name: "recorded.example" }).waitFor();
  await page.getByRole("textbox", { name: "Description" }).waitFor();
  expect(await page.getByRole("textbox", { name: "Description" }).inputValue()).toBe(
    "Say who it is",
  );
  await ui.judge();
  const { recipes } = await rig.api<Host>("GET", "/hosts/recorded.example");
  expect(recipes).toMatchObject([
    { pattern: "/form", description: "Say who it is", actions: [{ kind: "fill", text: "Ada" }] },
  ]);
  await rig.api("DELETE", "/hosts/recorded.example");
});

/** The recorded steps as a script, in the dialog that saves it. */
async function saveScript(page: Page, as: "Skill" | "Rerun job") {
  await page
    .getByRole("list", { name: "Recorded steps" })
    .getByText("Ada", { exact: true })
    .waitFor();
  await page.getByText("Script", { exact: true }).click();
  await page.getByRole("button", { name: "Save script" }).click();
  const dialog = page.getByRole("dialog", { name: "Save the steps" });
  await dialog.getByText(as, { exact: true }).click();
  return dialog;
}

test("steps saved as a skill lead to it, and go on in the session until then (rules/recorded-input#what-steps-become)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`, { width: 1440, height: 900 });
  const { page } = ui;
  const dialog = await saveScript(page, "Skill");
  await dialog.getByRole("textbox", { name: "Host" }).fill("recorded.example");
  await dialog.getByRole("textbox", { name: "Name" }).fill("Say who it is");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const saved = page.getByRole("alert").filter({ hasText: "Skill saved" });
  await ui.judge();
  expect(new URL(page.url()).pathname).toBe(`/ui/browsers/${sid}`);
  await saved.getByRole("link", { name: "Show it" }).click();
  await page.waitForURL("**/ui/library/skills?edit=say-who-it-is");
  const hosts = page.getByRole("textbox", { name: "Hosts", exact: true });
  await hosts.waitFor();
  expect(await hosts.inputValue()).toBe("recorded.example");
  const skill = await rig.api<Skill>("GET", "/skills/say-who-it-is");
  expect(skill.code).toContain("await session.fill(");
  await rig.api("DELETE", "/skills/say-who-it-is");
  await ui.judge();
});

test("steps saved as a rerun script lead to the job that runs them", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`, { width: 1440, height: 900 });
  const { page } = ui;
  const dialog = await saveScript(page, "Rerun job");
  await dialog.getByRole("button", { name: "Run the job" }).click();
  await page.waitForURL(/\/ui\/captures\/(?!new)[\w-]+$/);
  const job_id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const job = await until("the end of the job", 120_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.status === "completed" || now.status === "failed" ? now : null;
  });
  expect(job).toMatchObject({ status: "completed", url: `${rig.site}/form` });
  await ui.judge();
});

test("an element is picked on the picture, with what each of its selectors matches (rules/session-actions#pick)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`, { width: 1440, height: 900 });
  const { page } = ui;
  const viewer = page.frameLocator("iframe");
  await viewer.getByText("Connected, view only").waitFor();
  await page.getByRole("button", { name: "Pick an element" }).click();
  const { result } = await rig.api<{
    result: { selectors: { boxes: { x: number; y: number }[] }[] };
  }>("POST", `/sessions/${sid}/pick`, { selector: "#name" });
  const box = result.selectors[0]?.boxes[0];
  const picked = page.getByRole("region", { name: "Picked element" });
  // The picture gets its size while it comes.
  const at = await until("the field under the pointer", 60_000, async () => {
    const canvas = await viewer.locator("#screen canvas").boundingBox();
    const width = Number(await viewer.locator("#screen canvas").getAttribute("width"));
    if (!box || !canvas) throw new Error("no picture");
    const scale = canvas.width / width;
    const place = [canvas.x + (box.x + 8) * scale, canvas.y + (box.y + 8) * scale] as const;
    await page.mouse.move(place[0] + 3, place[1]);
    await page.mouse.move(...place);
    return (await picked.getByText("textbox").first().isVisible()) && place;
  });
  await page.mouse.click(...at);
  await picked.getByText("1 match").first().waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Stop picking" }).click();
  await picked.waitFor({ state: "detached" });
});

test("an answer that comes once picking was stopped shows nothing (rules/session-actions#pick)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`, { width: 1440, height: 900 });
  const { page } = ui;
  const viewer = page.frameLocator("iframe");
  await viewer.getByText("Connected, view only").waitFor();
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/pick", async (route) => {
    asked.resolve();
    await held.promise;
    await route.continue();
  });
  await page.getByRole("button", { name: "Pick an element" }).click();
  const canvas = await viewer.locator("#screen canvas").boundingBox();
  if (!canvas) throw new Error("no picture");
  await page.mouse.move(canvas.x + 40, canvas.y + 40);
  await asked.promise;
  await page.getByRole("button", { name: "Stop picking" }).click();
  const answered = page.waitForResponse("**/pick");
  held.resolve();
  await (await answered).finished();
  // What the app makes of the answer is drawn by then.
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))");
  expect(await page.getByRole("region", { name: "Picked element" }).count()).toBe(0);
});

/** What a person drags over the stage and lets go at a point of it. */
async function dropOn(page: Page, names: string[], at: { x: number; y: number }) {
  const dataTransfer = await page.evaluateHandle(`(() => {
    const files = new DataTransfer();
    for (const name of ${JSON.stringify(names)}) files.items.add(new File(["in " + name], name));
    return files;
  })()`);
  const stage = page.locator(".viewer-screen");
  const how = { dataTransfer, clientX: at.x, clientY: at.y, bubbles: true, cancelable: true };
  await stage.dispatchEvent("dragenter", how);
  await page.getByText("Drop them on a field for files").waitFor();
  await stage.dispatchEvent("dragover", how);
  await stage.dispatchEvent("drop", how);
}

test("files dropped on the stage are given to the field under them, and listed among the steps (rules/session-actions#the-actions)", async () => {
  await rig.api("POST", `/sessions/${sid}/navigate`, { url: `${rig.site}/files` });
  await using ui = await rig.open(`/ui/browsers/${sid}`, { width: 1440, height: 900 });
  const { page } = ui;
  const viewer = page.frameLocator("iframe");
  await page.getByRole("button", { name: "Record my clicks" }).click();
  await viewer.getByText("Connected", { exact: true }).waitFor();
  // The steps of the recording before are listed until this one has begun.
  await page.getByRole("button", { name: "Stop recording" }).waitFor();
  const steps = page.getByRole("list", { name: "Recorded steps" });
  const middleOf = async (selector: string) => {
    const { result } = await rig.api<{ result: Picked }>("POST", `/sessions/${sid}/pick`, {
      selector,
    });
    const box = result.selectors[0]?.boxes[0];
    const canvas = viewer.locator("#screen canvas");
    const at = await canvas.boundingBox();
    if (!box || !at) throw new Error("no picture");
    const scale = at.width / Number(await canvas.getAttribute("width"));
    return {
      x: at.x + (box.x + box.width / 2) * scale,
      y: at.y + (box.y + box.height / 2) * scale,
    };
  };
  await dropOn(page, ["a.png", "b.png"], await middleOf("#pictures"));
  await page.getByText("The page has 2 files").waitFor();
  await steps.getByText("a.png, b.png").waitFor();
  await dropOn(page, ["letter.txt"], await middleOf("#letter"));
  await page.getByText("The page has letter.txt").waitFor();
  await steps.getByText("letter.txt", { exact: true }).waitFor();
  const code = `return Promise.all([...document.querySelectorAll("input")].flatMap(({ files }) => [...files]).map(async (file) => file.name + ": " + await file.text()))`;
  const { result } = await rig.api<{ result: unknown }>("POST", `/sessions/${sid}/evaluate`, {
    code,
  });
  expect(result).toEqual(["letter.txt: in letter.txt", "a.png: in a.png", "b.png: in b.png"]);
  const { x, y } = await middleOf("#pictures");
  await dropOn(page, ["lost.txt"], { x, y: y + 200 });
  await page.getByText("The page has several fields for files").waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Stop recording" }).click();
  await rig.api("POST", `/sessions/${sid}/navigate`, { url: `${rig.site}/form` });
});

test("who watches is listed, the panels fold, and a phone has them under the picture (rules/viewer#who-is-watching)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`, { width: 390, height: 844 });
  const { page } = ui;
  await page.getByRole("tab", { name: /Watching/ }).click();
  await page.getByRole("list", { name: "Who is watching" }).getByText("watches").first().waitFor();
  for (const name of ["Requests", "Console", "Files", "Info", "Steps"]) {
    await page.getByRole("tab", { name }).click();
    await ui.judge();
  }
  const overflow = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  expect(overflow).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Fold the panels" }).click();
  await page.getByRole("button", { name: "Open the panels" }).click();
  await page.getByRole("tab", { name: "Steps" }).waitFor();
  const stage = await page.getByRole("region", { name: "Screen", exact: true }).boundingBox();
  expect(stage?.height).toBeGreaterThan(700);
});

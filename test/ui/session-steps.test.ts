import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { RecordedInput } from "#shared/protocol/schema/recorded-input.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
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
  const { recipes } = await rig.api<Host>("GET", "/hosts/recorded.example");
  expect(recipes).toMatchObject([
    { pattern: "/form", description: "Say who it is", actions: [{ kind: "fill", text: "Ada" }] },
  ]);
  await rig.api("DELETE", "/hosts/recorded.example");
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
  const canvas = await viewer.locator("#screen canvas").boundingBox();
  const width = Number(await viewer.locator("#screen canvas").getAttribute("width"));
  if (!box || !canvas) throw new Error("no picture");
  const scale = canvas.width / width;
  const at = [canvas.x + (box.x + 8) * scale, canvas.y + (box.y + 8) * scale] as const;
  await page.mouse.move(at[0] + 3, at[1]);
  await page.mouse.move(...at);
  const picked = page.getByRole("region", { name: "Picked element" });
  await picked.getByText("textbox").first().waitFor();
  await page.mouse.click(...at);
  await picked.getByText("1 match").first().waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Stop picking" }).click();
  await picked.waitFor({ state: "detached" });
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

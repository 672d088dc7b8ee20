import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Session } from "#shared/protocol/schema/session.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Lanes, sessions and their live screens, as people see them (rules/lanes#states-of-a-lane). */

setDefaultTimeout(180_000);

let rig: UiRig;
let session: Session;
const HOSTILE = '"><img src=x onerror=alert(1)>';

beforeAll(async () => {
  rig = await uiRig();
  session = await rig.api<Session>("POST", "/sessions", {
    url: `${rig.site}/page`,
    headless: true,
  });
  const code = `document.title = ${JSON.stringify(HOSTILE)}`;
  await rig.api("POST", `/sessions/${session.session_id}/evaluate`, { code });
});
afterAll(() => rig.api("DELETE", `/sessions/${session.session_id}`).catch(() => {}));

test("the wall shows every lane with its state, and what is on its screen as it changes (rules/lanes#states-of-a-lane)", async () => {
  await using ui = await rig.open("/ui/browsers");
  const { page } = ui;
  const tile = page.getByRole("button", { name: `view ${HOSTILE}` });
  const picture = tile.locator("img");
  await picture.waitFor();
  const ours = page.locator(".wall-tile").filter({ has: tile });
  await ours.getByText(HOSTILE, { exact: true }).waitFor();
  await ours.getByText(`${new URL(rig.site).host} · Session of a person or a program`).waitFor();
  const first = await picture.getAttribute("src");
  await until("another picture", 60_000, async () => (await picture.getAttribute("src")) !== first);
  expect(await page.locator(".wall-tile").count()).toBeGreaterThanOrEqual(3);
  expect(await page.getByRole("group", { name: "Lanes by state" }).textContent()).toContain(
    "running",
  );
  await ui.judge();
});

test("filters of the wall are in its address", async () => {
  await using ui = await rig.open("/ui/browsers");
  const { page } = ui;
  await page.getByRole("button", { name: /^\d+ running$/ }).click();
  await page.waitForURL("**/ui/browsers?state=running");
  await page.getByRole("textbox", { name: "Title, address or id" }).fill(session.session_id);
  await until("one lane", 60_000, async () => (await page.locator(".wall-tile").count()) === 1);
  await page.reload();
  await page.getByRole("button", { name: `view ${HOSTILE}` }).waitFor();
  expect(await page.locator(".wall-tile").count()).toBe(1);
  await page.getByRole("textbox", { name: "Title, address or id" }).fill("no such lane");
  await page.getByRole("button", { name: "Show every lane" }).click();
  await until("all lanes", 60_000, async () => (await page.locator(".wall-tile").count()) >= 3);
});

test("a tile opens the viewer in place: watching first, then taking over; ending the session frees the lane (rules/viewer#view-only)", async () => {
  await using ui = await rig.open(`/ui/browsers?q=${session.session_id}`, {
    width: 390,
    height: 844,
  });
  const { page } = ui;
  await page.getByRole("button", { name: `view ${HOSTILE}` }).click();
  await page.waitForURL(`**session=${session.session_id}`);
  const viewer = page.frameLocator("iframe");
  await viewer.getByText("Connected, view only").waitFor();
  await page.getByText("Take over", { exact: true }).click();
  await viewer.getByText("Connected", { exact: true }).waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "End session" }).click();
  const question = page.getByRole("dialog", { name: "End this session?" });
  await question.getByRole("button", { name: "End session" }).click();
  await until("its end", 60_000, async () => {
    const { sessions } = await rig.api<{ sessions: Session[] }>("GET", "/sessions");
    return sessions.every(({ session_id }) => session_id !== session.session_id);
  });
  await page.getByText("The session has ended").first().waitFor();
});

test("the dialog opens a session with what was chosen, and names the field that is wrong (rules/sessions#open-a-session)", async () => {
  await using ui = await rig.open("/ui/browsers");
  const { page } = ui;
  await page.getByRole("button", { name: "Open a session", exact: true }).first().click();
  const dialog = page.getByRole("dialog", { name: "Open a session" });
  await dialog.getByRole("textbox", { name: "Address" }).fill("ftp://nowhere");
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByRole("textbox", { name: "Address" }).fill(`${rig.site.slice(7)}/form`);
  await dialog.getByRole("switch", { name: "Headless" }).click();
  await dialog.getByRole("button", { name: "More" }).click();
  await dialog.getByRole("textbox", { name: "Ends when idle for, s" }).fill("77");
  await dialog.getByRole("button", { name: "What pages see and load" }).click();
  await dialog.getByRole("textbox", { name: "Width of the page, px" }).fill("800");
  await dialog.getByRole("textbox", { name: "Locale" }).fill("de-DE");
  await dialog.getByRole("combobox", { name: "Recording" }).click();
  await page.getByRole("option", { name: "Nothing" }).click();
  await dialog.getByText('"record":"off"').waitFor();
  await ui.judge(/422/);
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  await page.waitForURL("**/ui/browsers/*");
  const sid = new URL(page.url()).pathname.split("/").at(-1);
  const state = await rig.api<Session>("GET", `/sessions/${sid}/state`);
  expect(state).toMatchObject({ headless: true, idle_ttl_s: 77, url: `${rig.site}/form` });
  const seen = await rig.api("POST", `/sessions/${sid}/evaluate`, {
    code: "[innerWidth, innerHeight, navigator.language]",
  });
  expect(seen).toMatchObject({ result: [800, 1080, "de-DE"] });
  await rig.api("DELETE", `/sessions/${sid}`);
  await page.getByRole("heading", { name: "This session has ended" }).waitFor();
});

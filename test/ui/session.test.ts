import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Locator } from "playwright-core";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import type { Session, Tab } from "#shared/protocol/schema/session.ts";
import type { Recording } from "#shared/recording/record.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** One session with everything that can be done to it (rules/sessions#session-record). */

setDefaultTimeout(180_000);

let rig: UiRig;
let sid: string;

beforeAll(async () => {
  rig = await uiRig();
  const body = { url: `${rig.site}/page`, headless: true };
  sid = (await rig.api<Session>("POST", "/sessions", body)).session_id;
});
afterAll(() => rig.api("DELETE", `/sessions/${sid}`).catch(() => {}));

const state = () => rig.api<Session>("GET", `/sessions/${sid}/state`);
const tabs = async () =>
  (await rig.api<{ result: Tab[] }>("POST", `/sessions/${sid}/tabs`, {})).result;

test("the page goes where the address bar says, back, forward and again (rules/session-actions#the-actions)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`);
  const { page } = ui;
  await page.getByRole("heading", { level: 1, name: "Test site" }).waitFor();
  const address = page.getByRole("textbox", { name: "Address of the page" });
  await address.fill(`${rig.site}/form`);
  await address.press("Enter");
  const isAt = (path: string) =>
    until(`the session at ${path}`, 60_000, async () => (await state()).url === rig.site + path);
  await isAt("/form");
  // Before the document is there, the page before it would be another one.
  await page.locator(".session-address[aria-busy=false]").waitFor();
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await isAt("/page");
  await page.getByRole("button", { name: "Forward", exact: true }).click();
  await isAt("/form");
  await rig.api("POST", `/sessions/${sid}/fill`, { selector: "#name", text: "Ada" });
  await page.getByRole("button", { name: "Reload", exact: true }).click();
  await until("an empty field", 60_000, async () => {
    const code = 'document.querySelector("#name")?.value';
    const path = `/sessions/${sid}/evaluate`;
    // Refused while the page is on its way.
    const reply = await rig.api<{ result: unknown }>("POST", path, { code }).catch(() => null);
    return reply?.result === "";
  });
  await ui.judge();
});

test("what the page asks is shown, and answered with what was typed", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`);
  const { page } = ui;
  const evaluate = (code: string) =>
    rig.api<{ result: unknown }>("POST", `/sessions/${sid}/evaluate`, { code });
  // It says that a dialog is in its way.
  await evaluate("answer = prompt('Who is there?', 'nobody')").catch(() => {});
  const asked = page.getByRole("region", { name: "The page asks" });
  await asked.getByText("Who is there?").waitFor();
  await ui.judge();
  await asked.getByRole("textbox", { name: "Answer" }).fill("Ada");
  await asked.getByRole("button", { name: "OK" }).click();
  await asked.waitFor({ state: "detached" });
  expect((await evaluate("answer")).result).toBe("Ada");
  await ui.judge();
});

test("keyboard and mouse reach the session only after taking over (rules/viewer#view-only)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`);
  const { page } = ui;
  const viewer = page.frameLocator("iframe");
  const typed = async () => {
    const code = 'document.querySelector("#name").value';
    return (await rig.api<{ result: unknown }>("POST", `/sessions/${sid}/evaluate`, { code }))
      .result;
  };
  await rig.api("POST", `/sessions/${sid}/evaluate`, {
    code: 'document.querySelector("#name").focus()',
  });
  await viewer.getByText("Connected, view only").waitFor();
  await viewer.locator("canvas").click();
  await page.keyboard.type("watching");
  expect(await typed()).toBe("");
  await page.getByText("Take over", { exact: true }).click();
  await viewer.getByText("Connected", { exact: true }).waitFor();
  await viewer.locator("canvas").focus();
  await rig.api("POST", `/sessions/${sid}/evaluate`, {
    code: 'document.querySelector("#name").focus()',
  });
  await page.keyboard.type("acting");
  await until("what was typed", 60_000, async () => (await typed()) === "acting");
});

test("the viewer fills the screen and gives it back (rules/viewer#viewer-page)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`);
  const { page } = ui;
  const viewer = page.frameLocator("iframe");
  await viewer.getByText("Connected, view only").waitFor();
  const full = () => page.evaluate<string | null>("document.fullscreenElement?.className ?? null");
  expect(await full()).toBeNull();
  await page.getByRole("button", { name: "Full screen" }).click();
  await until("the full screen", 60_000, async () => (await full()) === "viewer-screen");
  const { width, height } = await page.evaluate<{ width: number; height: number }>(
    "({ width: innerWidth, height: innerHeight })",
  );
  await until("a screen as large as the window", 60_000, async () => {
    const box = await page.locator("iframe").boundingBox();
    return box?.width === width && box.height === height;
  });
  // As the browser does at Escape, a key that only its windows know.
  await page.evaluate("document.exitFullscreen()");
  await until("the page again", 60_000, async () => (await full()) === null);
  await page.getByText("Take over", { exact: true }).click();
  await viewer.getByText("Connected", { exact: true }).waitFor();
  expect(ui.complaints()).toEqual([]);
});

test("keepalive raises the idle time; tabs are opened, selected and closed; a screenshot is taken (rules/sessions#idle-time)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`, {
    width: 1024,
    height: 768,
    colors: "dark",
  });
  const { page } = ui;
  await page.getByRole("tab", { name: "Info" }).click();
  await page.getByRole("textbox", { name: "Ends when idle for, s" }).fill("1234");
  await page.getByRole("button", { name: "Keep alive" }).click();
  await until("the idle time", 60_000, async () => (await state()).idle_ttl_s === 1_234);
  await ui.judge();
  const section = page.getByRole("navigation", { name: "Tabs" });
  await page.getByRole("button", { name: "New tab" }).click();
  await section.getByRole("button", { name: "Close tab 2" }).waitFor();
  expect((await tabs()).find(({ active }) => active)?.index).toBe(1);
  await section.getByRole("button", { name: "Test site" }).click();
  await until("the first tab", 60_000, async () => (await tabs())[0]?.active === true);
  await section.getByRole("button", { name: "Close tab 2" }).click();
  await section.getByRole("button", { name: "Close tab 2" }).waitFor({ state: "detached" });
  expect(await tabs()).toHaveLength(1);
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("checkbox", { name: "The whole page" }).click();
  await page.getByRole("button", { name: "Take a screenshot" }).click();
  await page.getByRole("img", { name: "Screenshot of" }).waitFor();
  await page.getByRole("link", { name: "Save as PNG" }).waitFor();
  await ui.judge();
});

test("what the browser downloaded is listed (rules/sessions#downloads-of-a-session)", async () => {
  const code =
    'const a = document.createElement("a"); a.href = "data:text/plain,hello"; a.download = "<b>a.txt"; a.click()';
  await rig.api("POST", `/sessions/${sid}/evaluate`, { code });
  await until("the download", 60_000, async () => {
    const { files } = await rig.api<{ files: unknown[] }>("GET", `/sessions/${sid}/files`);
    return files.length > 0;
  });
  await using ui = await rig.open(`/ui/browsers/${sid}`);
  await ui.page.getByRole("tab", { name: "Files" }).click();
  const downloads = ui.page.getByRole("region", { name: "Downloads" });
  await downloads.getByRole("link", { name: /a\.txt/ }).waitFor();
  // One that ends later appears by itself, although the address stays.
  await rig.api("POST", `/sessions/${sid}/evaluate`, { code: code.replace("a.txt", "later.txt") });
  await downloads.getByRole("link", { name: /later\.txt/ }).waitFor();
});

test("the session's profile is saved; ending the session asks first (rules/profiles#save-a-session-as-a-profile)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`);
  const { page } = ui;
  await page.getByRole("button", { name: "Save profile" }).click();
  const dialog = page.getByRole("dialog", { name: "Save the browser's profile" });
  await dialog.locator("input").fill("Not a name");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.getByText("must consist of a-z, 0-9, hyphen and underscore").waitFor();
  await dialog.locator("input:focus").waitFor();
  expect(await dialog.locator("input").inputValue()).toBe("Not a name");
  await dialog.locator("input").fill("a-saved");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  // The browser is closed, packed, sent and started again.
  await page.getByText("Saved as profile a-saved").waitFor({ timeout: 120_000 });
  const { profiles } = await rig.api<{ profiles: Profile[] }>("GET", "/profiles");
  expect(profiles.map(({ name }) => name)).toContain("a-saved");
  await rig.api("DELETE", "/profiles/a-saved");
  const end = page.locator("main").getByRole("button", { name: "End session" });
  await end.click();
  const ask = page.getByRole("dialog", { name: "End this session?" });
  await ask.getByRole("button", { name: "No, go back" }).click();
  expect((await state()).session_id).toBe(sid);
  await end.click();
  await ask.getByRole("button", { name: "End session" }).click();
  await page.waitForURL("**/ui/browsers");
  const { sessions } = await rig.api<{ sessions: Session[] }>("GET", "/sessions");
  expect(sessions.map(({ session_id }) => session_id)).not.toContain(sid);
  // A wrong name, and the viewer while the browser was closed.
  await ui.judge(/422|404|novnc/);
});

test("an ended session says so and leads on (rules/sessions#ended-sessions-are-404)", async () => {
  await using ui = await rig.open(`/ui/browsers/${sid}`);
  await ui.page.getByRole("heading", { name: "This session has ended" }).waitFor();
  await ui.page.getByRole("link", { name: "Open another session" }).click();
  await ui.page.getByRole("dialog", { name: "Open a session" }).waitFor();
  await ui.judge(/404/);
});

/** Waits until the picture is there, and not only its place. */
const isLoaded = async (picture: Locator) => {
  await picture.waitFor();
  await until("the picture", 60_000, () =>
    picture.evaluate((img) => (Reflect.get(img, "naturalWidth") as number) > 0),
  );
};

test("past sessions have a picture and their last page with host and port, and one opens beside the list and on a phone over it (rules/web-app#past-sessions)", async () => {
  const opened = await rig.api<Session>("POST", "/sessions", { url: `${rig.site}/page?past` });
  await until("a picture of it", 60_000, async () => {
    const answer = await fetch(`${rig.url}/sessions/${opened.session_id}/recording`);
    return ((await answer.json()) as Partial<Recording>).chunks?.length;
  });
  await rig.api("DELETE", `/sessions/${opened.session_id}`);
  await using ui = await rig.open("/ui/browsers/past");
  const { page } = ui;
  const row = page
    .getByRole("table", { name: "Past sessions" })
    .getByRole("row", { name: /\/page\?past/ })
    .first();
  await row.getByText(new URL(rig.site).host, { exact: true }).waitFor();
  await row.getByText("Test site").waitFor();
  await row.getByText("Ended", { exact: true }).waitFor();
  // It is there once the recording has ended.
  await isLoaded(row.locator("img"));
  await row.click();
  await page.waitForURL(`**/ui/browsers/past?session=${opened.session_id}`);
  const detail = page.getByRole("region", { name: "Test site" });
  await detail.getByText(opened.session_id).waitFor();
  await isLoaded(detail.getByRole("img", { name: "What its screen showed last" }));
  await ui.judge();
  await page.setViewportSize({ width: 390, height: 844 });
  const drawer = page.getByRole("dialog", { name: "Test site" });
  await isLoaded(drawer.getByRole("img", { name: "What its screen showed last" }));
  // Less where the page has a scroll bar.
  const too_wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  expect(too_wide).toBeLessThanOrEqual(0);
  await drawer.getByRole("link", { name: /Play recording|Open page/ }).click();
  await page.waitForURL(`**/ui/browsers/${opened.session_id}`);
});

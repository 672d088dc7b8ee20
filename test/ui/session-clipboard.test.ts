import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Session } from "#shared/protocol/schema/session.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Text goes into a session and comes out of it by the clipboard of its viewer (rules/viewer#clipboard). */

setDefaultTimeout(180_000);

let rig: UiRig;
/** Its lane has a screen. */
let fleet: FleetProcesses;
beforeAll(async () => {
  rig = await uiRig();
  fleet = await startFleet({ lanes: 1 });
  await fleet.lanesWarm(120_000);
});
afterAll(async () => {
  expect(await fleet?.stop()).toEqual([]);
});

const TEXT = "Grüße, 2 × “naïve”";

/** A session at a server, in the app with keyboard and mouse; its page has the focus in a field. */
async function drive(hub: string, page: Page, sid: string) {
  const viewer = page.frameLocator("iframe");
  const evaluate = async (code: string): Promise<unknown> => {
    const body = JSON.stringify({ code });
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.timeout(60_000);
    const at = `${hub}/sessions/${sid}/evaluate`;
    const answer = await fetch(at, { method: "POST", headers, body, signal });
    return ((await answer.json()) as { result: unknown }).result;
  };
  const clipboard = page.getByRole("button", { name: "Clipboard of the session" });
  await viewer.getByText("Connected, view only").waitFor();
  expect(await clipboard.getAttribute("aria-disabled")).toBe("true");
  await page.getByRole("button", { name: "Take over" }).click();
  await viewer.getByText("Connected", { exact: true }).waitFor();
  const canvas = viewer.locator("#screen canvas");
  // The window on a lane's screen takes keys once somebody has clicked on it.
  await canvas.click();
  await evaluate('document.querySelector("#name").focus()');
  const text = viewer.getByLabel("Text for the session's clipboard");
  const put = async (given: string) => {
    await clipboard.click();
    await text.fill(given);
    await viewer.getByRole("button", { name: "Copy and paste" }).click();
    await text.waitFor({ state: "hidden" });
    const value = 'document.querySelector("#name").value';
    await until("the text in the page", 60_000, async () => (await evaluate(value)) === given);
  };
  return { canvas, evaluate, clipboard, text, put };
}

test("the clipboard puts text into the page, and takes what is copied there (rules/viewer#clipboard)", async () => {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ url: `${rig.site}/form` });
  const answer = await fetch(`${fleet.url}/sessions`, { method: "POST", headers, body });
  const { session_id } = (await answer.json()) as Session;
  await using ui = await rig.open(`/ui/browsers/${session_id}`, { url: fleet.url });
  const { page } = ui;
  const { canvas, evaluate, clipboard, text, put } = await drive(fleet.url, page, session_id);
  await put(TEXT);
  await evaluate('document.querySelector("#name").value = "from the page ✓"');
  await canvas.focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+c");
  await until("the text in the viewer", 60_000, async () => {
    return (await text.inputValue()) === "from the page ✓";
  });
  await clipboard.click();
  await text.waitFor();
  await ui.judge();
});

test("a lane without a screen takes text as well", async () => {
  const body = { url: `${rig.site}/form`, headless: true };
  const { session_id } = await rig.api<Session>("POST", "/sessions", body);
  await using ui = await rig.open(`/ui/browsers/${session_id}`);
  const { put } = await drive(rig.url, ui.page, session_id);
  await put(TEXT);
  await ui.judge();
  await rig.api("DELETE", `/sessions/${session_id}`);
});

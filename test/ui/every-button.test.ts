import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type EveryPage, everyPage } from "#test/support/rigs/every-page.ts";
import { pressButtons, type Sweep } from "#test/support/rigs/ui-buttons.ts";
import { logIn, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/**
 * Every button of every page is pressed once, with those of its menus, dialogs and tabs (rules/web-app#every-page): the mouse
 * reaches it, and it breaks nothing. What is sent is refused, so that no button takes away what another page shows: what each
 * one does is in the test of its page.
 */

/** A place takes a minute and a half at most where nothing else runs. */
setDefaultTimeout(600_000);

/** Pages at a time. */
const TOGETHER = 3;
const REFUSED = /status of (409|422) /;

/** The app's frame is the same on every page. */
const pressed = new Set<string>();

let rig: UiRig;
let every: EveryPage;
beforeAll(async () => {
  rig = await uiRig();
  every = await everyPage(rig);
}, 240_000);
// Nobody drives it, so that it may have ended by itself.
afterAll(() => rig.api("DELETE", `/sessions/${every.session_id}`).catch(() => {}), 180_000);

/** In the page, because a route of Playwright's would have every file of the app sent again at each press that loads one. */
function refuseWrites(): void {
  const send = globalThis.fetch;
  const sendReads = async (...request: Parameters<typeof send>) => {
    const [address, { method = "GET" } = {}] = request;
    return method === "GET"
      ? send(...request)
      : Response.json({ detail: `${address}: refused by the test` }, { status: 409 });
  };
  globalThis.fetch = Object.assign(sendReads, { preconnect: send.preconnect });
}

async function sweepPages(addresses: string[], apart: number, sweep: Sweep): Promise<void> {
  await using ui = await rig.open("/ui/captures", { apart });
  const { page } = ui;
  await logIn(page, rig.url, rig.admin_password);
  await using _refusing = await page.addInitScript(refuseWrites);
  // A form that was changed asks before it is left.
  page.on("dialog", (dialog) => dialog.accept());
  page.on("popup", (popup) => popup.close());
  for (let address = addresses.shift(); address !== undefined; address = addresses.shift())
    await pressButtons(page, rig.url + address, sweep);
  sweep.faults.push(...ui.complaints(REFUSED));
}

for (const [name, belongs] of [
  ["Home and Browsers", /^\/ui\/(home|browsers)/],
  ["Captures", /^\/ui\/captures/],
  ["Pipelines", /^\/ui\/pipelines/],
  ["the Library", /^\/ui\/library/],
  ["System and whatever else there is", /^\/ui\/(?!home|browsers|captures|pipelines|library)/],
] as const)
  test(`every button of ${name} can be pressed, and breaks nothing (rules/web-app#every-page)`, async () => {
    const before = pressed.size;
    const sweep: Sweep = { pressed, faults: [] };
    const addresses = Object.values(every.addresses).filter((address) => belongs.test(address));
    expect(addresses.length).toBeGreaterThan(1);
    await Promise.all([...Array(TOGETHER).keys()].map((i) => sweepPages(addresses, i, sweep)));
    expect(sweep.faults).toEqual([]);
    expect(pressed.size - before).toBeGreaterThan(20);
    console.log(`${name}: ${pressed.size - before} buttons`);
  });

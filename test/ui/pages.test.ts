import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type EveryPage, everyPage } from "#test/support/rigs/every-page.ts";
import { layoutFaults, WINDOWS } from "#test/support/rigs/ui-layout.ts";
import { logIn, settled, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/**
 * Every page of the admin UI (rules/web-app#every-page) shows its heading, axe finds nothing serious, the console stays
 * empty, nothing is asked of another origin, and no text is cut, covered or outside of the window. What its buttons do is in
 * the file of each page.
 */

setDefaultTimeout(280_000);

let rig: UiRig;
let every: EveryPage;

beforeAll(async () => {
  rig = await uiRig();
  every = await everyPage(rig);
}, 240_000);

afterAll(() => rig.api("DELETE", `/sessions/${every.session_id}`), 180_000);

/** axe takes a second a page: the phone's layout is judged by its width alone. */
for (const { name, judged, window, colors } of [
  { name: "is judged by axe", judged: true, window: WINDOWS.desk, colors: "light" },
  { name: "fits a tablet", judged: false, window: WINDOWS.tablet, colors: "light" },
  { name: "fits a phone", judged: false, window: WINDOWS.phone, colors: "dark" },
] as const)
  test(`every page ${name} (rules/web-app#every-page)`, async () => {
    const { addresses } = every;
    expect(Object.keys(addresses).length).toBeGreaterThan(30);
    const faults: Record<string, string[]> = {};
    await using ui = await rig.open("/ui/captures", { ...window, colors });
    await logIn(ui.page, rig.url, rig.admin_password);
    for (const address of Object.values(addresses)) {
      await ui.page.goto(rig.url + address);
      await settled(ui.page);
      expect(await ui.page.getByRole("heading", { name: "There is no such page" }).count()).toBe(0);
      const found = await layoutFaults(ui.page);
      if (found.length > 0) faults[address] = found;
      if (judged) await ui.judge();
    }
    expect(faults).toEqual({});
    expect(ui.complaints()).toEqual([]);
  });

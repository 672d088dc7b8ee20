import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { settled } from "./ui-rig.ts";

const LOOK = readFileSync(join(import.meta.dir, "ui-buttons.page.js"), "utf8");
/** A button that cannot be reached with the mouse by then is covered, or moves. */
const PRESS_MS = 5_000;
/** More than any page has: what each press brings forth has no end. */
const MOST_PRESSES = 200;
/** Two frames, for what a press changes at once. */
const DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
const BROKEN = "This page could not be shown";

interface Seen {
  place: string;
  role: string;
  name: string;
}

/** What tells a button from the others of its page, whichever record it belongs to. */
const keyOf = ({ place, role, name }: Seen): string =>
  `${place} › ${role} › ${name.replaceAll(/\b(?=\w*\d)\w{6,}\b/g, "ID").replaceAll(/\d+/g, "N")}`;

/** What was pressed so far: each button of a page once, and those of the app's frame on one of them. */
export interface Sweep {
  readonly pressed: Set<string>;
  readonly faults: string[];
}

const look = async (page: Page): Promise<string[]> =>
  (await page.evaluate<Seen[]>(LOOK)).map(keyOf);

async function press(page: Page, at: number): Promise<void> {
  await page.locator(`[data-press="${at}"]`).click({ timeout: PRESS_MS });
  await page.evaluate(DRAWN);
  await page
    .locator("[aria-busy=true]")
    .first()
    .waitFor({ state: "detached", timeout: PRESS_MS })
    .catch(() => {});
}

/** One page of the app while its buttons are pressed. */
interface Place {
  readonly page: Page;
  readonly address: string;
  /** Buttons that were seen, and those that have to be pressed before each is there. */
  readonly ways: Map<string, readonly string[]>;
}

async function begin({ page, address }: Place): Promise<void> {
  await page.goto(address);
  await settled(page);
}

/** Brings `key` forth, from what is shown or else from the beginning. @returns what is there then */
async function bring(place: Place, key: string, fresh: boolean): Promise<string[]> {
  const { page, ways } = place;
  if (fresh) await begin(place);
  let there = await look(page);
  for (const step of ways.get(key) ?? []) {
    if (there.includes(key)) break;
    const at = there.indexOf(step);
    if (at === -1) break;
    await press(page, at).catch(() => {});
    there = await look(page);
  }
  return there.includes(key) || fresh ? there : bring(place, key, true);
}

/** Presses `key` where it is there, once more where something lay over it for a moment. @returns what is wrong with it */
async function pressOne(place: Place, key: string, there: string[]): Promise<string | null> {
  try {
    const at = there.indexOf(key);
    if (at >= 0) await press(place.page, at);
    return null;
  } catch {
    const again = await bring(place, key, true);
    const at = again.indexOf(key);
    return at === -1
      ? null
      : press(place.page, at).then(
          () => null,
          (err) => String(err).split("\n")[0] ?? "",
        );
  }
}

/**
 * Presses each button of one page once, with those that it brings forth: in menus, dialogs and tabs. None may break the page
 * or be out of the mouse's reach.
 */
export async function pressButtons(page: Page, address: string, sweep: Sweep): Promise<void> {
  const { pathname } = new URL(address);
  const place: Place = { page, address, ways: new Map() };
  const { ways } = place;
  const nameOf = (key: string) => (key.startsWith("shell ") ? key : `${pathname} ${key}`);
  const isNew = (key: string) => !sweep.pressed.has(nameOf(key));
  /** The buttons that are there now; those that are new came by `way`. */
  const note = async (way: readonly string[]) => {
    const there = await look(page);
    for (const key of there) if (!ways.has(key)) ways.set(key, way);
    return there;
  };
  await begin(place);
  let there = await note([]);
  for (let presses = 0; presses < MOST_PRESSES; presses += 1) {
    let key = there.find(isNew);
    if (key === undefined) {
      key = [...ways.keys()].find(isNew);
      if (key === undefined) return;
      there = await bring(place, key, false);
    }
    sweep.pressed.add(nameOf(key));
    const wrong = await pressOne(place, key, there);
    if (wrong !== null) sweep.faults.push(`${pathname}: ${key}: ${wrong}`);
    if ((await page.getByText(BROKEN).count()) > 0)
      sweep.faults.push(`${pathname}: ${key}: ${BROKEN}`);
    if (wrong !== null || new URL(page.url()).pathname !== pathname) await begin(place);
    there = await note([...(ways.get(key) ?? []), key]);
  }
  sweep.faults.push(`${pathname}: more than ${MOST_PRESSES} buttons`);
}

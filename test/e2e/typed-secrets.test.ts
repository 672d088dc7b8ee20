import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { systemClock } from "#shared/kit/clock.ts";
import { createMask } from "#shared/recording/masks.ts";
import { type LanePages, openLanePages } from "#test/support/rigs/lane-pages.ts";
import { locatorOf } from "#worker/browser/actions/agent-move.ts";
import { seePage } from "#worker/browser/actions/snapshot.ts";
import { hidingTyped, pressHiding } from "#worker/browser/actions/typed-secrets.ts";

setDefaultTimeout(180_000);

/** What is hidden of what is typed (rules/recordings#secrets-in-recordings). */
let lane: LanePages;
let page: Page;
beforeAll(async () => {
  lane = await openLanePages();
  page = await lane.newPage();
}, 180_000);
afterAll(async () => {
  await lane?.close();
});

const FIELDS = `<input id=plain><input id=secret type=password aria-label=Secret>
<input id=turns onfocus="this.type = 'password'"><iframe srcdoc="<input id=inner autocomplete=one-time-code>"></iframe>`;

async function opened() {
  await page.setContent(FIELDS);
  const mask = createMask();
  const typing = { page, clock: systemClock, hide: mask.hide };
  const fill = (field: Locator, text: string, before = async () => {}) =>
    hidingTyped({ ...typing, field, text, by_key: false }, async () => {
      await before();
      await field.fill(text, { timeout: 5_000 });
    });
  const press = (key: string) => pressHiding({ ...typing, field: null, key }, 5_000);
  return { mask, typing, fill, press };
}

test("what goes into an ordinary field, or into none, is shown", async () => {
  const { mask, typing, fill, press } = await opened();
  await fill(page.locator("#plain"), "an ordinary text");
  for (const key of " more") await press(key);
  expect(await page.locator("#plain").inputValue()).toBe("an ordinary text more");
  const field = page.locator("#missing");
  const never = hidingTyped({ ...typing, field, text: "a lost text", by_key: false }, () =>
    field.fill("a lost text", { timeout: 1 }),
  );
  expect(await never.catch(({ name }) => name)).toBe("TimeoutError");
  for (const text of ["an ordinary text more", "a lost text"]) expect(mask.text(text)).toBe(text);
});

test("what goes into a secret field is hidden before it is there, whatever its selector", async () => {
  const { mask, typing, fill } = await opened();
  const { aria } = await seePage(page, { max_chars: 1_000, timeout_ms: 60_000, refs: true });
  const ref = /textbox (e\d+) "Secret"/.exec(aria.text)?.[1] ?? aria.text;
  const fields = [page.locator("#secret"), page.locator(locatorOf(ref))];
  fields.push(page.frameLocator("iframe").locator("#inner"));
  for (const [i, field] of fields.entries()) {
    const text = `secret number ${i}`;
    await fill(field, text, async () => expect(mask.text(text)).toBe("***"));
    expect(mask.text(`it is ${encodeURIComponent(text)}`)).toBe("it is ***");
  }
  const typed = { ...typing, field: null, text: " goes on", by_key: true };
  // A look that takes too long does not see what was there before; each part is hidden by itself then.
  const all_hidden = /^(\*{3})+$/;
  await hidingTyped(typed, async () => {
    expect(mask.text("secret number 2 goes")).toMatch(all_hidden);
    await page.keyboard.type(typed.text);
  });
  expect(mask.text("secret number 2 goes on")).toMatch(all_hidden);
});

test("a field that comes later, or becomes secret with the focus, hides what is in it", async () => {
  const { mask, fill } = await opened();
  await fill(page.locator("#late"), "late secret", async () => {
    expect(mask.text("late secret")).toBe("***");
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('input'), { id: 'late', type: 'password' }))",
    );
  });
  await fill(page.locator("#later"), "later text", async () => {
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('input'), { id: 'later' }))",
    );
  });
  await fill(page.locator("#turns"), "turned secret");
  for (const text of ["late secret", "turned secret"]) expect(mask.text(text)).toBe("***");
  expect(mask.text("later text")).toBe("later text");
});

test("of a secret that is pressed key by key the second half of its beginnings stays hidden", async () => {
  const { mask, press } = await opened();
  await page.locator("#secret").focus();
  for (const key of "word-7Kz") {
    await press(key);
    const by_now = await page.locator("#secret").inputValue();
    if (by_now.length > 3) expect(mask.text(by_now)).toBe("***");
  }
  await press("Shift+A");
  expect(["word-7KzA", "word-7Kz", "word-"].map(mask.text)).toEqual(["***", "***", "***"]);
  expect(mask.text("word")).toBe("word");
});

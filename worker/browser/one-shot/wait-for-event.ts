import type { Page } from "playwright-core";

/** What the page keeps while it was not asked: under a key that no page has by accident. */
const KEY = 'Symbol.for("flotilla.event")';

/** Listens on the window, through which every event of a document passes on its way. */
const listener = (event: string): string =>
  `(() => {
    const heard = () => Object.defineProperty(globalThis, ${KEY}, { value: true, configurable: true });
    addEventListener(${JSON.stringify(event)}, heard, { capture: true, once: true });
  })()`;

/** From now on, in this document and in those that the page opens, the event is noticed before anybody waits for it. */
export async function listenFor(page: Page, event: string): Promise<void> {
  await page.addInitScript(listener(event));
  await page.evaluate(listener(event));
}

export async function waitForEvent(page: Page, timeout: number): Promise<void> {
  await page.waitForFunction(`globalThis[${KEY}] === true`, undefined, { timeout });
}

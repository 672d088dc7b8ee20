import { type Browser, chromium } from "playwright-core";
import puppeteer, { type Browser as Puppet } from "puppeteer-core";
import { CHROMIUM_FLAGS, chromiumPath } from "../rigs/chromium.ts";
import type { HttpSession, SessionFleet } from "../rigs/session-fleet.ts";

/** Where a check of an unmodified library runs: at a session, and as control at a browser of its own. */
export const WHERE = ["a session", "a plain local Chromium"] as const;
/** The libraries give a browser up that needs half a minute. */
const START_MS = 120_000;
export type Where = (typeof WHERE)[number];

/** New for each call: Puppeteer adds to the options that it is given, a logger among them that Playwright cannot use. */
const launch = () => ({
  executablePath: chromiumPath(),
  args: [...CHROMIUM_FLAGS],
  headless: true,
});

export const withPlaywright = (
  fleet: SessionFleet,
  where: Where,
  use: (browser: Browser) => Promise<void>,
): Promise<void> =>
  withBrowser(fleet, where, use, (session) =>
    session
      ? chromium.connectOverCDP(session.cdp_url, { timeout: START_MS })
      : chromium.launch({ ...launch(), timeout: START_MS }),
  );

export const withPuppeteer = (
  fleet: SessionFleet,
  where: Where,
  use: (browser: Puppet) => Promise<void>,
): Promise<void> =>
  withBrowser(fleet, where, use, (session) =>
    session
      ? puppeteer.connect({ browserWSEndpoint: session.cdp_url })
      : puppeteer.launch({ ...launch(), timeout: START_MS }),
  );

async function withBrowser<B extends { close(): Promise<void> }>(
  fleet: SessionFleet,
  where: Where,
  use: (browser: B) => Promise<void>,
  open: (session: HttpSession | null) => Promise<B>,
): Promise<void> {
  const session = where === "a session" ? await fleet.open() : null;
  try {
    const browser = await open(session);
    await use(browser).finally(() => browser.close());
  } finally {
    await session?.end();
  }
}

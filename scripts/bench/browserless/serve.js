/**
 * Serves browserless with one Chromium that is installed already: `CHROMIUM` is its path, `BROWSERS` an empty folder.
 * browserless looks for a browser where Playwright would have put it, and does not start while one of its routes needs a
 * browser that is not there.
 */
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";

process.env.PLAYWRIGHT_BROWSERS_PATH = process.env.BROWSERS;
const { chromium } = await import("playwright-core");
mkdirSync(dirname(chromium.executablePath()), { recursive: true });
symlinkSync(process.env.CHROMIUM, chromium.executablePath());

const { Browserless, BrowserlessRoutes } = await import("@browserless.io/browserless");
const browserless = new Browserless();
const others = /^(Chrome|Edge|Firefox|WebKit)/;
browserless.disableRoutes(...Object.values(BrowserlessRoutes).filter((name) => others.test(name)));
await browserless.start();

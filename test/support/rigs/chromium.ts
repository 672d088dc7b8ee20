import { findChromium } from "#worker/browser/process/program.ts";

/** The browser of this machine, as workers find it. */
export const chromiumPath = (): string =>
  findChromium(process.env.SVC_CHROMIUM ?? null, process.env.PATH ?? "");

/** For a Chromium that a test or a benchmark starts itself, as root: it asks the network for nothing of its own. */
export const CHROMIUM_FLAGS: readonly string[] = [
  "--no-sandbox",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-quic",
  "--disable-sync",
];

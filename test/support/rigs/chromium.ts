import { findChromium } from "#worker/browser/process/program.ts";

/** The browser of this machine, as workers find it. */
export const chromiumPath = (): string =>
  findChromium(process.env.SVC_CHROMIUM ?? null, process.env.PATH ?? "");

/** Debian's package for the same engine without windows: its browser process and its start take half the CPU time. */
const HEADLESS_SHELL = "chromium-headless-shell";

/** What shows the web app to a test: a window that nobody looks at would be a fifth of the CPU time. */
export const headlessChromiumPath = (): string => Bun.which(HEADLESS_SHELL) ?? chromiumPath();

/** For a Chromium that a test or a benchmark starts itself, as root: it asks the network for nothing of its own. */
export const CHROMIUM_FLAGS: readonly string[] = [
  "--no-sandbox",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-quic",
  "--disable-sync",
];

import { installApiTools } from "#test/support/rigs/api-tools.ts";
import { seenInLanes, seenInPlain, seenWithPlaywright } from "#test/support/rigs/detected.ts";
import { type Seen, startDetectorSite } from "#test/support/servers/detector-site.ts";
import { startBrowserless } from "./bench/browserless.ts";

/**
 * `bun scripts/detector-table.ts` prints what public detectors find in the Chromium of this machine: steered by nobody, by
 * Flotilla, by Playwright and by browserless (rules/browser-options#signs-of-automation). The first use installs browserless.
 */

await installApiTools();
const site = startDetectorSite();
const browserless = await startBrowserless(1);
try {
  const plain = await seenInPlain(site);
  const headful = await seenInLanes(site, { SVC_HEADLESS_LANES: "0" });
  const headless = await seenInLanes(site, { SVC_HEADLESS_LANES: "1" });
  const columns: Record<string, Seen> = {
    "nobody steers": plain,
    "fetch job": headful.job,
    session: headful.session,
    "fetch job, headless": headless.job,
    "session, headless": headless.session,
    Playwright: await seenWithPlaywright(site),
    browserless: await seenInBrowserless({}),
    "browserless, stealth": await seenInBrowserless({ stealth: true }),
  };
  printTable(columns, plain);
} finally {
  await browserless.close();
  await site.stop();
}

function seenInBrowserless(launch: object): Promise<Seen> {
  const looked = { fn: '() => document.title === "looked"', timeout: 60_000 };
  return site.seenBy(() =>
    browserless.post("/chromium/content", { url: site.url, waitForFunction: looked }, launch),
  );
}

function printTable(columns: Record<string, Seen>, plain: Seen): void {
  const seen = Object.values(columns);
  const row = (cells: string[]) => console.log(`| ${cells.join(" | ")} |`);
  row(["What they find", ...Object.keys(columns)]);
  row(["---", ...seen.map(() => "---")]);
  for (const sign of [...new Set(seen.flatMap(({ signs }) => signs))].sort())
    row([sign, ...seen.map(({ signs }) => (signs.includes(sign) ? "yes" : ""))]);
  for (const name of Object.keys(plain.features).sort()) {
    const differs = seen.map(({ features }) => features[name] !== plain.features[name]);
    if (!differs.includes(true)) continue;
    row([
      `FingerprintJS ${name}`,
      ...seen.map(({ features }) => (features[name] ?? "").slice(0, 60)),
    ]);
  }
}

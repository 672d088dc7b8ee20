import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { installApiTools } from "#test/support/rigs/api-tools.ts";
import { seenInLanes, seenInPlain, seenWithPlaywright } from "#test/support/rigs/detected.ts";
import { type Seen, startDetectorSite } from "#test/support/servers/detector-site.ts";

/**
 * What public detectors of automation find in a lane, beside what they find in a browser that nobody steers
 * (rules/browser-options#signs-of-automation).
 */

setDefaultTimeout(180_000);

const site = startDetectorSite();
/** In a browser that nobody steers. */
let plain: Seen;
beforeAll(async () => {
  await installApiTools();
  plain = await seenInPlain(site);
}, 300_000);
afterAll(() => site.stop());

/** A browser that downloads documents of this kind has no viewer of them; people set that, too. */
const NO_PDF_VIEWER = "botd detectPluginsLengthInconsistency";
const NO_PDF_VIEWER_FEATURES = ["pdfViewerEnabled", "plugins"];
/** The plain browser has no screen. */
const SCREEN = "screenResolution";
const ANNOUNCED = [
  "botd detectWebDriver",
  "fpscanner hasWebdriver",
  "fpscanner hasWebdriverIframe",
  "fpscanner hasWebdriverWritable",
];

const differences = (a: Seen, b: Seen): string[] =>
  Object.keys({ ...a.features, ...b.features })
    .filter((name) => a.features[name] !== b.features[name])
    .sort();

test.each([
  ["headful", "0"],
  ["headless", "1"],
])(
  "in a job on a %s lane detectors find a missing viewer of PDFs alone, and in a session that it is steered too",
  async (_, headless) => {
    const { job, session } = await seenInLanes(site, { SVC_HEADLESS_LANES: headless });
    expect(job.signs).toEqual([...plain.signs, NO_PDF_VIEWER].sort());
    expect(session.signs).toEqual([...plain.signs, NO_PDF_VIEWER, "fpscanner hasCDP"].sort());
    expect(Object.keys(plain.features).length).toBeGreaterThan(30);
    expect(differences(job, plain)).toEqual([...NO_PDF_VIEWER_FEATURES, SCREEN]);
    expect(differences(session, plain)).toEqual([...NO_PDF_VIEWER_FEATURES, SCREEN]);
  },
);

test("a lane announces that a program can steer it where its worker is told to, as Playwright's own browser does", async () => {
  const { job } = await seenInLanes(site, { SVC_HEADLESS_LANES: "1", SVC_SHOW_AUTOMATION: "1" });
  expect(job.signs).toEqual([...plain.signs, NO_PDF_VIEWER, ...ANNOUNCED].sort());
  const headless = [
    "botd detectAppVersion",
    "botd detectUserAgent",
    "fpscanner hasBotUserAgent",
    "fpscanner hasCDP",
  ];
  expect((await seenWithPlaywright(site)).signs).toEqual(
    [...plain.signs, ...ANNOUNCED, ...headless].sort(),
  );
});

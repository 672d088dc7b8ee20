import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { z } from "zod";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { API_TOOLS, installApiTools } from "#test/support/rigs/api-tools.ts";
import { makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { laneWarm, startSessionRig } from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { findChromium } from "#worker/browser/process/program.ts";

/**
 * What public detectors of automation find in a lane, beside what they find in a browser that nobody steers
 * (rules/browser-options#signs-of-automation).
 */

setDefaultTimeout(180_000);

beforeAll(() => installApiTools());

const TOOLS = join(API_TOOLS, "node_modules");
const SCRIPTS: Record<string, string> = {
  "/botd.js": "@fingerprintjs/botd/dist/botd.esm.js",
  "/fpscanner.js": "fpscanner/dist/fpScanner.es.js",
};
const PAGE = `<!doctype html><title>looks</title><script type="module">
import { load } from "/botd.js";
import Scanner from "/fpscanner.js";
// A job ends when the network is silent, however long detectors look: this keeps it from silence.
fetch("/until-found").catch(() => {});
const botd = await load({ monitoring: false });
botd.detect();
const found = Object.entries(botd.getDetections()).filter(([, { bot }]) => bot).map(([name]) => "botd " + name);
const { fastBotDetectionDetails } = await new Scanner().collectFingerprint({ encrypt: false });
for (const [name, { detected }] of Object.entries(fastBotDetectionDetails))
  if (detected) found.push("fpscanner " + name);
await fetch("/found", { method: "POST", body: JSON.stringify(found) });
document.title = "looked";
</script>`;

let found = Promise.withResolvers<string[]>();
const site = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  routes: {
    "/found": async (request) => {
      found.resolve(z.array(z.string()).parse(await request.json()));
      return new Response();
    },
    "/until-found": async () => {
      await found.promise;
      return new Response();
    },
  },
  fetch: (request) => {
    const script = SCRIPTS[new URL(request.url).pathname];
    return script
      ? new Response(Bun.file(join(TOOLS, script)), {
          headers: { "content-type": "text/javascript" },
        })
      : new Response(PAGE, { headers: { "content-type": "text/html" } });
  },
});
afterAll(() => site.stop(true));

/** What the page finds while `visit` shows it. */
async function foundBy(visit: () => Promise<unknown>): Promise<string[]> {
  found = Promise.withResolvers<string[]>();
  const visited = visit();
  return (await Promise.all([found.promise, visited]))[0].sort();
}

const program = findChromium(null, process.env.PATH ?? "");

/** In the same program, which nothing can steer. */
async function foundInPlain(): Promise<string[]> {
  const dir = makeDataDir();
  const flags = ["--no-sandbox", "--no-first-run", "--ozone-platform=headless"];
  const graphics = "--use-angle=swiftshader-webgl";
  const browser = Bun.spawn(
    [program, ...flags, graphics, `--user-data-dir=${dir}`, site.url.href],
    {
      stdout: "ignore",
      stderr: "ignore",
    },
  );
  try {
    return await foundBy(async () => {});
  } finally {
    browser.kill();
    await browser.exited;
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function foundWithPlaywright(): Promise<string[]> {
  const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
  try {
    return await foundBy(async () => (await browser.newPage()).goto(site.url.href));
  } finally {
    await browser.close();
  }
}

async function foundInLanes(
  env: Record<string, string>,
): Promise<{ job: string[]; session: string[] }> {
  const rig = await startSessionRig(env);
  try {
    const warm = laneWarm(rig.peer, 0);
    const job = await foundBy(async () => {
      rig.peer.send({
        ...assignment("looks", 0, 900),
        url: site.url.href,
        options: JobOptions.parse({ idle_seconds: 0.5 }),
      });
      await warm;
    });
    const session = await foundBy(() => rig.open({ url: site.url.href }));
    return { job, session };
  } finally {
    await rig.close();
  }
}

/** A browser that downloads documents of this kind has no viewer of them; people set that, too. */
const NO_PDF_VIEWER = "botd detectPluginsLengthInconsistency";

test.each([
  ["headful", "0"],
  ["headless", "1"],
])(
  "in a job on a %s lane detectors find a missing viewer of PDFs alone, and in a session that it is steered too",
  async (_, headless) => {
    const plain = await foundInPlain();
    const { job, session } = await foundInLanes({ SVC_HEADLESS_LANES: headless });
    expect(job).toEqual([...plain, NO_PDF_VIEWER].sort());
    expect(session).toEqual([...plain, NO_PDF_VIEWER, "fpscanner hasCDP"].sort());
  },
);

test("a lane announces that a program can steer it where its worker is told to, as Playwright's own browser does", async () => {
  const { job } = await foundInLanes({ SVC_HEADLESS_LANES: "1", SVC_SHOW_AUTOMATION: "1" });
  const signs = ["botd detectWebDriver", "fpscanner hasWebdriver", "fpscanner hasWebdriverIframe"];
  expect(job).toEqual(expect.arrayContaining(signs));
  expect(await foundWithPlaywright()).toEqual(expect.arrayContaining(signs));
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Browser, chromium, type Page } from "playwright-core";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startWitness, type Witness } from "#test/support/models/witness.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { ASSET_TYPES, MIGHT_RUN, RUNS, TAGS } from "./lists/asset-types.ts";

/** Captured bodies are a stranger's: none of them runs a script where the admin UI and the API are. */

let hub: TestHub;
let worker: FakeWorker;
let witness: Witness;
let browser: Browser;
beforeAll(async () => {
  witness = startWitness();
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 4 });
  browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: [...CHROMIUM_FLAGS],
    timeout: 180_000,
  });
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await hub?.close();
  await witness?.stop();
});

/** Opens each file by its address; resolves when what it would run has run. */
async function openByAddress(page: Page, urls: readonly string[]): Promise<void> {
  // What is saved aborts the navigation.
  for (const url of urls) {
    // On a busy machine all of them take longer than a worker may be silent.
    worker.heartbeat();
    await page.goto(url).catch((err: Error) => {
      if (!/Download is starting|ERR_ABORTED/.test(err.message)) throw err;
    });
  }
}

/** Opens all files at once within a page of their own origin; resolves when every answer has come and a later frame has run. */
async function openWithin(page: Page, urls: readonly string[], tag: string): Promise<void> {
  await page.goto(`${new URL(urls[0] ?? "").origin}/health`);
  const answered = new Set<string>();
  page.on("response", (response) => answered.add(response.url()));
  await page.evaluate(`for (const url of ${JSON.stringify(urls)}) {
    const element = document.createElement("${tag}");
    element.setAttribute("${tag === "object" ? "data" : "src"}", url);
    document.documentElement.append(element);
  }`);
  await until(`answers for ${tag}`, 60_000, () => urls.every((url) => answered.has(url)));
  const end = `end of ${tag} ${page.url()}`;
  await page.evaluate(`
    const frame = document.createElement("iframe");
    frame.srcdoc = ${JSON.stringify(`<script>${witness.script(end)}</script>`)};
    document.documentElement.append(frame);
  `);
  await until(end, 60_000, () => witness.told().includes(end));
}

async function openAll(urls: readonly string[]): Promise<void> {
  const context = await browser.newContext({ acceptDownloads: false });
  context.setDefaultTimeout(180_000);
  const inTab = async (use: (page: Page) => Promise<void>) => use(await context.newPage());
  await Promise.all([
    inTab((page) => openByAddress(page, urls)),
    ...TAGS.map((tag) => inTab((page) => openWithin(page, urls, tag))),
  ]);
  await context.close();
}

test("a server that says nothing of them lets Chromium run these types: the attack works", async () => {
  const bodies = RUNS.map(([mime, make], i) => ({
    mime,
    body: make(witness.script(`bare ${i} ${mime}`)),
  }));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const found = bodies[Number(new URL(request.url).pathname.slice(1))];
      return found
        ? new Response(found.body, {
            headers: { "content-type": found.mime, "x-content-type-options": "nosniff" },
          })
        : new Response("{}", { headers: { "content-type": "application/json" } });
    },
  });
  try {
    await openAll(bodies.map((_, i) => `http://127.0.0.1:${server.port}/${i}`));
  } finally {
    await server.stop(true);
  }
  const wanted = RUNS.map(([mime], i) => `bare ${i} ${mime}`).sort();
  expect(witness.told().filter((name) => name.startsWith("bare "))).toEqual(wanted);
}, 240_000);

const store = async (job: HubAssignJob, name: string, mime: string, body: string) => {
  const { status } = await worker.putAsset(job, body, { name, mime, kind: "other", ext: "" });
  expect({ mime, status }).toEqual({ mime, status: 200 });
};

test("an asset of any type, opened from the hub's origin in any way, runs no script there", async () => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next((one) => one.job_id === job_id);
  const urls: string[] = [];
  for (const [i, [mime, make]] of [...RUNS, ...MIGHT_RUN].entries()) {
    const name = `a${i}.html`;
    await store(job, name, mime, make(witness.script(`asset ${i} ${mime}`)));
    urls.push(`${hub.url}/jobs/${job_id}/assets/${name}`);
  }
  await openAll(urls);
  expect(witness.told().filter((name) => name.startsWith("asset "))).toEqual([]);
  const tried = attempting(ASSET_TYPES);
  for (const attempt of ASSET_TYPES.attempts) tried.refused(attempt);
}, 240_000);

test("plain text is neither a script nor a style of a page: its type counts, not what it looks like", async () => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next((one) => one.job_id === job_id);
  await store(job, "a.js", "text/plain", witness.script("plain text as a script"));
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${hub.url}/health`);
  const loaded = await page.evaluate(`new Promise((resolve) => {
    const script = document.createElement("script");
    script.onload = () => resolve("loaded");
    script.onerror = () => resolve("refused");
    script.src = "/jobs/${job_id}/assets/a.js";
    document.documentElement.append(script);
  })`);
  await page.close();
  expect(loaded).toBe("refused");
  expect(witness.told()).not.toContain("plain text as a script");
}, 180_000);

test("the explorer at /docs works under its policy and runs nothing of anybody else", async () => {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const broken: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") broken.push(message.text());
  });
  await page.goto(`${hub.url}/docs`);
  await page.locator("#operations-tag-jobs").click();
  await page.getByText("/jobs/{id}/cancel", { exact: true }).first().waitFor();
  expect(broken).toEqual([]);
  await page.evaluate(`
    const element = document.createElement("script");
    element.textContent = ${JSON.stringify(witness.script("inline in docs"))};
    document.body.append(element);
    const picture = document.createElement("img");
    picture.setAttribute("onerror", ${JSON.stringify(witness.script("attribute in docs"))});
    picture.src = "data:,";
    document.body.append(picture);
    new Promise((resolve) => picture.addEventListener("error", resolve));
  `);
  await until("the policy's word", 60_000, () =>
    broken.some((text) => text.includes("Content Security Policy")),
  );
  await page.close();
  expect(witness.told().filter((name) => name.endsWith("in docs"))).toEqual([]);
}, 180_000);

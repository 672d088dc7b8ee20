import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startWitness, type Witness } from "#test/support/models/witness.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import {
  FILE_NAMES,
  HEADERS,
  HOSTILE_PLACES,
  HOSTILE_TEXTS,
  NAMES,
  TEXTS,
  WORKER_HEADERS,
} from "./lists/hostile-answers.ts";

/** What lanes send back is a stranger's: it is shown as text, is saved under its own name, and sets no header of the hub's. */

setDefaultTimeout(240_000);

let hub: TestHub;
let worker: FakeWorker;
let witness: Witness;
let browser: Browser;
/** It stands where the lanes' bridges are. */
let bridge: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  witness = startWitness();
  bridge = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      new Response(`<script>${witness.script("a file of a session")}</script>`, {
        headers: {
          ...Object.fromEntries(WORKER_HEADERS.map((name) => [name, `evil of ${name}`])),
          "Content-Type": "text/html",
        },
      }),
  });
  hub = await startTestHub({ alone: true });
  worker = await hub.worker({
    lanes: 4,
    address: "127.0.0.1",
    capabilities: {
      max_concurrent: 4,
      lane_novnc_urls: Array.from({ length: 4 }, () => `http://127.0.0.1:${bridge.port}/`),
      novnc_url: null,
      browser: "Chrome/1",
      capture: "durable",
    },
  });
  browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: [...CHROMIUM_FLAGS],
    timeout: 180_000,
  });
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await hub?.close();
  await bridge?.stop(true);
  await witness?.stop();
});

async function assigned(): Promise<HubAssignJob> {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((one) => one.job_id === job_id);
}

const textOf = (place: string, name: string) =>
  (HOSTILE_TEXTS[name] ?? "").replaceAll(
    "SCRIPT",
    witness.script(`${place}: ${name}`).replaceAll('"', "'"),
  );

/** Ends a job whose page is called so. */
async function jobOf(name: string): Promise<string> {
  const job = await assigned();
  worker.finish(job, {
    status: "failed",
    error: textOf("error", name),
    stage: "page",
    title: textOf("title", name),
    final_url: textOf("final address", name),
  });
  await worker.settle();
  return job.job_id;
}

/** A job whose page has all of them in everything of which there may be many. */
async function jobOfAll(): Promise<string> {
  const job = await assigned();
  const all = (place: string) => Object.keys(HOSTILE_TEXTS).map((name) => textOf(place, name));
  for (const text of all("log")) worker.log(job, "page", text);
  const entries = all("HAR").map((text) => ({
    request: { method: "GET", url: text, headers: [], queryString: [], cookies: [] },
    response: { status: 200, statusText: text, headers: [], content: { mimeType: text } },
    startedDateTime: new Date().toISOString(),
    time: 1,
    timings: {},
    cache: {},
  }));
  const har = { log: { version: "1.2", creator: { name: "x", version: "1" }, entries } };
  const links = all("links").map((text) => ({ href: text, text }));
  for (const [name, body] of [
    ["har.json", JSON.stringify(har)],
    ["links.json", JSON.stringify(links)],
    ["page.html", `<title>x</title>${all("links").join("\n")}`],
  ] as const)
    expect((await worker.putDocument(job, name, body)).status).toBe(200);
  for (const [i, text] of all("asset").entries()) {
    const name = `asset-${i}.txt`;
    const of = { name, mime: "text/plain", kind: "other", ext: "txt" } as const;
    const stored = await worker.putAsset(job, text, {
      ...of,
      source_url: `http://site.test/${text}`,
      page_url: text,
    });
    expect(stored.status).toBe(200);
  }
  worker.finish(job);
  await worker.settle();
  return job.job_id;
}

/** Attributes of the page that would run something when they are used. In a frame with an empty sandbox nothing runs. */
const DANGEROUS = `[...document.querySelectorAll("a, area, form, iframe, object, embed, base, meta[http-equiv], script[src]")]
  .filter((e) => !(e.hasAttribute("srcdoc") && e.getAttribute("sandbox") === ""))
  .map((e) => e.getAttribute("href") ?? e.getAttribute("src") ?? e.getAttribute("action") ?? e.getAttribute("data") ?? e.outerHTML)
  .filter((value) => /^[\\s\\u0000-\\u001f]*(java\\s*script|data|vbscript):/i.test(value) || /evil\\.test/.test(value))`;

test("nothing that a page calls itself runs in the app, or becomes a link that would", async () => {
  const tried = attempting(TEXTS);
  const jobs: string[] = [];
  for (const name of Object.keys(HOSTILE_TEXTS)) jobs.push(await jobOf(name));
  const all = await jobOfAll();
  const context = await browser.newContext({ acceptDownloads: false });
  context.setDefaultTimeout(180_000);
  const page = await context.newPage();
  page.on("dialog", (dialog) => void dialog.dismiss());
  // Where nobody takes them for text, they do run.
  for (const name of Object.keys(HOSTILE_TEXTS))
    await page.setContent(`<p><input value="${textOf("bare", name)}">${textOf("bare", name)}`);
  const bare = () => witness.told().filter((name) => name.startsWith("bare: "));
  await until("scripts to run", 60_000, () => bare().length >= 4);
  const wrong: string[] = [];
  const look = async (path: string, ready: string) => {
    // On a busy machine all of them take longer than a worker may be silent.
    worker.heartbeat();
    await page.goto(hub.url + path);
    await page.locator(ready).first().waitFor();
    const found = await page.evaluate<string[]>(DANGEROUS);
    wrong.push(...found.map((value) => `${path}: ${value.slice(0, 200)}`));
  };
  await look("/ui/captures", "[role=cell]");
  for (const job_id of jobs) await look(`/ui/captures/${job_id}`, "[role=tabpanel] *");
  for (const tab of ["log", "assets", "har"])
    await look(`/ui/captures/${all}?tab=${tab}`, "[role=tabpanel] *");
  await look(`/ui/captures/${all}?tab=page`, "[role=tabpanel] iframe[srcdoc]");
  // Answers of the hub itself, opened in a tab.
  for (const file of [
    "log.txt",
    "har.json",
    "links.json",
    "page.html",
    "assets.json",
    "events.json",
  ])
    await page.goto(`${hub.url}/jobs/${all}/${file}`).catch((err: Error) => {
      if (!/Download is starting|ERR_ABORTED/.test(err.message)) throw err;
    });
  await context.close();
  expect(wrong).toEqual([]);
  expect(witness.told().filter((name) => !name.startsWith("bare: "))).toEqual([]);
  for (const place of HOSTILE_PLACES)
    for (const name of Object.keys(HOSTILE_TEXTS)) tried.refused(`${place}: ${name}`);
  expect(tried.left()).toEqual([]);
});

/** The head of the raw answer, line by line. */
async function headOf(path: string): Promise<string[]> {
  const answer = await rawRequest(
    hub.url,
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  return (answer.split("\r\n\r\n")[0] ?? "").split("\r\n");
}

test("no name of a captured file ends a header, leaves a directory, or changes what is saved", async () => {
  const tried = attempting(NAMES);
  const job = await assigned();
  const names = Object.entries(FILE_NAMES);
  for (const [attempt, name] of names) {
    const body = "<script>1</script>";
    const { upload_token } = await worker.registered;
    // The client of tests encodes names as a worker of ours does; these bytes are chosen.
    const encoded = encodeURIComponent(name.toWellFormed());
    const answer = await fetch(`${hub.url}/workers/w11/jobs/${job.job_id}/assets/${encoded}`, {
      method: "PUT",
      body,
      headers: {
        Authorization: `Bearer ${upload_token}`,
        "X-Sha256": sha256(body),
        "X-Lease-Token": String(job.lease_token),
        "X-Asset-Meta": Buffer.from(
          JSON.stringify({ kind: "other", mime: "text/html", ext: "html" }),
        ).toString("base64url"),
      },
    });
    expect([200, 400, 404, 405, 422]).toContain(answer.status);
    const head = await headOf(`/jobs/${job.job_id}/assets/${encoded}`);
    expect({ attempt, evil: head.filter((line) => /^(x-evil|set-cookie):/i.test(line)) }).toEqual({
      attempt,
      evil: [],
    });
    const disposition = head.find((line) => /^content-disposition:/i.test(line)) ?? "";
    expect(disposition.replace(/[\x20-\x7e]/g, "")).toBe("");
    if (disposition !== "")
      expect(disposition).toMatch(
        /^content-disposition: attachment; filename=("[^"\\/%;]*"|[\w.~!#$&'*+^`|-]+)(; filename\*=UTF-8''[\w.~!$&+^`|%-]*)?$/i,
      );
    tried.refused(`asset: ${attempt}`);
  }
  const zip = await fetch(`${hub.url}/jobs/${job.job_id}/assets.zip`);
  const bytes = Buffer.from(await zip.arrayBuffer()).toString("latin1");
  // Entries of the central directory: the length of a name stands at 28, the name at 46.
  const entries = bytes
    .split("PK\u0001\u0002")
    .slice(1)
    .map((entry) => entry.slice(42, 42 + entry.charCodeAt(24) + 256 * entry.charCodeAt(25)));
  expect(entries.length).toBeGreaterThan(0);
  expect(
    entries.filter((name) => /(^|[/\\])\.\.([/\\]|$)|^\/|^[a-z]:|\p{Cc}|\\/iu.test(name)),
  ).toEqual([]);

  const { session_id } = (await hub.call("POST", "/sessions", {})).body;
  for (const [attempt, name] of names) {
    const encoded = encodeURIComponent(name.toWellFormed());
    const head = await headOf(`/sessions/${session_id}/files/${encoded}`);
    expect({ attempt, evil: head.filter((line) => /^(x-evil|set-cookie):/i.test(line)) }).toEqual({
      attempt,
      evil: [],
    });
    expect(Number(head[0]?.split(" ")[1])).toBeLessThan(500);
    tried.refused(`download: ${attempt}`);
  }
  expect(existsSync("/etc/passwd.html")).toBeFalse();
  expect(tried.left()).toEqual([]);
});

test("a file of a session brings none of its worker's headers, and is saved", async () => {
  const tried = attempting(HEADERS);
  const { session_id } = (await hub.call("POST", "/sessions", {})).body;
  const address = `/sessions/${session_id}/files/x.html`;
  const answer = await hub.call("GET", address);
  expect(answer.status).toBe(200);
  for (const name of WORKER_HEADERS) {
    expect(answer.headers.get(name) ?? "").not.toContain("evil");
    tried.refused(name);
  }
  expect(answer.headers.get("content-disposition")).toStartWith("attachment; ");
  const context = await browser.newContext({ acceptDownloads: false });
  context.setDefaultTimeout(180_000);
  const page = await context.newPage();
  await page.goto(hub.url + address).catch(() => {});
  await page.goto(`${hub.url}/health`);
  await context.close();
  expect(witness.told()).not.toContain("a file of a session");
  expect(tried.left()).toEqual([]);
});

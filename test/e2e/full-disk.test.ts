import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import { hubCalls } from "#test/support/clients/hub-calls.ts";
import { addressOf } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { PROGRAM, type Program, startProgram } from "#test/support/rigs/program.ts";
import { lanePorts } from "#test/support/servers/ports.ts";
import { seededBytes, sha256 } from "#test/support/servers/site/bytes.ts";
import { startServer } from "#test/support/servers/site/server.ts";
import { noSmallDisk, startOnSmallDisk } from "#test/support/servers/small-disk.ts";

/**
 * Stores on a disk that is really full, or really read-only, and the jobs that need them
 * (rules/capture#jobs-that-outlast-their-store).
 */

const SLOW_MS = 240_000;
const STEP_MS = 120_000;
const PICTURE = seededBytes(21, 600_000);

const refused = await noSmallDisk();
if (refused !== null) console.log(`no file system can be mounted here: ${refused}`);

let site: Awaited<ReturnType<typeof startServer>>;
let dir: string;
let hub: ReturnType<typeof startOnSmallDisk>;
let worker: Program;
let url: string;

const { call, health } = hubCalls(() => url, STEP_MS);
const submit = async (): Promise<string> => {
  const options = { idle_seconds: 0.5, headless: true };
  return (await call("POST", "/jobs", { url: `${site.origin}/page`, options })).body.job_id;
};
const job = async (job_id: string): Promise<Job> => (await call("GET", `/jobs/${job_id}`)).body;
const logOf = async (job_id: string) => (await fetch(`${url}/jobs/${job_id}/log.txt`)).text();
const says = (job_id: string, text: string) =>
  until(`"${text}" in the log of ${job_id}`, STEP_MS, async () =>
    (await logOf(job_id)).includes(text),
  );
const laneIsWarm = () =>
  until("a warm lane", STEP_MS, async () => {
    // A read that meets a write which fails is 503 like that.
    const { workers } = (await call("GET", "/workers")).body;
    return workers?.[0]?.lanes[0]?.state === "warm";
  });
/** Completed with every body whole, to the byte. */
async function isWhole(job_id: string): Promise<void> {
  const ended = await until(`the end of ${job_id}`, STEP_MS, async () => {
    const now = await job(job_id);
    return now.status === "running" || now.status === "queued" ? null : now;
  });
  expect({ ended, log: await logOf(job_id) }).toMatchObject({
    ended: { status: "completed", error: null, capture: { lost: 0, partial: 0, ratio: 1 } },
  });
  const { items } = (await call("GET", `/jobs/${job_id}/assets.json`)).body;
  const picture = items.find(({ source_url }: { source_url: string }) =>
    source_url.endsWith("/picture.bin"),
  );
  expect(picture).toMatchObject({ size: PICTURE.length, sha256: sha256(PICTURE) });
}

/** A hub with `env` whose `disk` is small, and a worker with one lane. */
async function startFleet(disk: string, env: Record<string, string>): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "flotilla-disk-"));
  dir = root;
  mkdirSync(join(root, disk));
  const place = (value: string) => value.replace("DIR", root);
  const data = Object.fromEntries(Object.entries(env).map(([k, v]) => [k, place(v)]));
  const argv = [...PROGRAM, "hub", "--host", "127.0.0.1", "--port", "0"];
  hub = startOnSmallDisk(join(root, disk), "16m", argv, {
    // Below its reserve it would take no jobs, and this is about what gets full nevertheless.
    SVC_DATA_DIR: join(root, "hub"),
    SVC_DISK_RESERVE_BYTES: "0",
    ...data,
  });
  url = await addressOf(hub.program);
  const ports = lanePorts();
  worker = startProgram([...PROGRAM, "worker"], {
    env: {
      ...ports,
      HUB_URL: url,
      SVC_DATA_DIR: join(root, "worker"),
      SVC_WORKER_ID: "w1",
      LANE_POOL: "1",
      SVC_HEADLESS_LANES: "1",
    },
  });
  await laneIsWarm();
}
async function stopFleet(): Promise<void> {
  for (const program of [worker, hub?.program]) {
    program?.kill("SIGTERM");
    await program?.exited;
  }
  if (dir) rmSync(dir, { recursive: true, force: true });
}

beforeAll(async () => {
  site = await startServer("127.0.0.1");
  site.on("/page", (_q, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(`<title>page</title><script>fetch("/picture.bin").then((r) => r.blob())</script>`);
  });
  site.on("/picture.bin", (_q, res) => {
    res.writeHead(200, { "content-type": "application/octet-stream" });
    res.end(PICTURE);
  });
});
afterAll(() => site.stop());

describe.skipIf(refused !== null)("an object store", () => {
  beforeAll(() => startFleet("small", { SVC_OBJECTS_URL: "file:DIR/small/objects" }), SLOW_MS);
  afterAll(stopFleet, STEP_MS);

  for (const [what, breakIt, mendIt, why] of [
    [
      "whose disk is full",
      () => hub.fill(),
      () => hub.free(),
      "the disk of the object store is full",
    ],
    [
      "that is mounted read-only",
      () => hub.remount("ro"),
      () => hub.remount("rw"),
      "the object store is read-only",
    ],
  ] as const)
    test(
      `${what}: health and the jobs' logs say so, no lane waits for it, and with space all jobs are whole`,
      async () => {
        await health([]);
        await breakIt();
        await health([{ part: "object_store", detail: why }]);
        const jobs = [await submit(), await submit()];
        for (const job_id of jobs) {
          await says(job_id, `the lane is given back: HTTP 503: ${why}`);
          expect((await job(job_id)).status).toBe("running");
        }
        await laneIsWarm();
        await mendIt();
        for (const job_id of jobs) await isWhole(job_id);
        await health([]);
      },
      SLOW_MS,
    );
});

describe.skipIf(refused !== null)("the disk of the SQLite database", () => {
  beforeAll(() => startFleet("small", { SVC_DB_URL: "sqlite:DIR/small/flotilla.db" }), SLOW_MS);
  afterAll(stopFleet, STEP_MS);
  const why = "the disk of the database is full";

  test(
    "is full: health says so, what needs it is 503 with that sentence, what is stored is read, and with space all goes on",
    async () => {
      const before = await submit();
      await isWhole(before);
      await hub.fill();
      // What is left of the log of transactions takes a few more.
      await until("a refused job", STEP_MS, async () => {
        const { status, body } = await call("POST", "/jobs", { url: `${site.origin}/page` });
        return status === 503 && body.detail === why;
      });
      await health([{ part: "database", detail: why }]);
      expect(await call("PATCH", "/settings", { preview_interval_s: 2 })).toMatchObject({
        status: 503,
        body: { detail: why },
      });
      expect((await job(before)).status).toBe("completed");
      await hub.free();
      await health([]);
      await isWhole(await submit());
    },
    SLOW_MS,
  );

  test(
    "gets full under a job: it waits without its lane, and ends with its whole log when there is space",
    async () => {
      const released = Promise.withResolvers<void>();
      site.on("/late-page", (_q, res) => {
        res.writeHead(200, { "content-type": "text/html" });
        res.end(`<title>page</title><script>fetch("/picture.bin").then((r) => r.blob())</script>
          <script>fetch("/released").then((r) => r.text())</script>`);
      });
      site.on("/released", async (_q, res) => {
        await released.promise;
        res.end("released");
      });
      const target = { url: `${site.origin}/late-page`, options: { headless: true } };
      const { job_id } = (await call("POST", "/jobs", target)).body;
      await says(job_id, "load event after");
      await hub.fill();
      await health([{ part: "database", detail: why }]);
      released.resolve();
      await laneIsWarm();
      await hub.free();
      await isWhole(job_id);
      const log = await logOf(job_id);
      expect(log).toContain(`HTTP 503: ${why}`);
      expect(log).toContain("the hub stores again after");
    },
    SLOW_MS,
  );
});

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchOnce } from "#hub/fleet/watches/passes.ts";
import { createDiskRoom } from "#hub/platform/stores/disk-room.ts";
import { hubCalls } from "#test/support/clients/hub-calls.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { addressOf } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { PROGRAM } from "#test/support/rigs/program.ts";
import { noSmallDisk, startOnSmallDisk } from "#test/support/servers/small-disk.ts";

/** A hub takes no new work before its disk is full, and goes on with what runs (rules/storage#disk-reserve). */

setDefaultTimeout(180_000);
const STEP_MS = 60_000;
const SAYS = /^the disk of the data directory has .* free, less than the reserve of .*: free up/;
const ASYNC = { headers: { prefer: "respond-async" } };
const PULLER = { incarnation: "incarnation-1", slots: 1 };

let hub: TestHub;
let worker: FakeWorker;
/** What the hub's disk says it has. */
const disk = { free_bytes: 10_000_000_000, size_bytes: 100_000_000_000 };
const health = async () => (await hub.call("GET", "/health")).body;
/** Takes effect with the hub's next look. */
async function setRoom(status: "ok" | "degraded"): Promise<void> {
  disk.free_bytes = status === "ok" ? 10_000_000_000 : 1_000_000;
  await until(
    `a disk that is ${status}`,
    STEP_MS,
    async () => (await health()).disk.status === status,
  );
}
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const submit = async () =>
  (await hub.call("POST", "/jobs", { url: TARGET }, ASYNC)).body.job_id as string;

beforeAll(async () => {
  hub = await startTestHub({
    alone: true,
    onContext: (ctx) => {
      const dirs = [{ what: "the data directory", dir: "/" }];
      const { clock, log } = ctx;
      const ask = async () => ({ ...disk });
      Object.assign(ctx, {
        disk_room: createDiskRoom({ clock, log, dirs, reserve_bytes: null, ask }),
      });
    },
  });
  worker = await hub.worker();
});
afterAll(() => hub.close());

describe("while a disk is short (rules/storage#disk-reserve)", () => {
  let running: Awaited<ReturnType<FakeWorker["assigned"]["next"]>>;
  let waiting: string;
  let watch: string;
  beforeAll(async () => {
    await submit();
    running = await worker.assigned.next();
    waiting = await submit();
    const every = { url: TARGET, every_s: 3_600 };
    watch = (await hub.call("POST", "/watches", { ...every, enabled: false })).body.watch_id;
    const argv = { executor_type: "command", executor_config: { argv: ["true"] } };
    await hub.call("POST", "/api/v1/workloads", { slug: "w", ...argv });
    await hub.call("POST", "/api/v1/workloads/w/tasks", { pk: "a" });
    const hello = { ...PULLER, host: "h", version: "1", workloads: ["w"] };
    expect((await hub.call("POST", "/api/v1/workers/p1/register", hello)).status).toBe(200);
    await setRoom("degraded");
  });

  test("every call that makes work is 503 with the reason, and a path that names no work is not found", async () => {
    for (const [method, path, body] of [
      ["POST", "/jobs", { url: TARGET }],
      ["GET", `/${TARGET}`],
      ["POST", "/jobs/import", "PK"],
      ["POST", "/content", { url: TARGET, as_job: true }],
      ["POST", "/sessions", {}],
      ["POST", "/watches", { url: TARGET, every_s: 60 }],
      ["POST", `/watches/${watch}/capture`],
      ["POST", "/profiles/p", "x"],
      ["POST", "/api/v1/workloads/w/tasks", { pk: "b" }],
      ["POST", "/api/v1/workloads/w/tasks/batch", { items: [{ pk: "b" }] }],
    ] as const) {
      const answer = await hub.call(method, path, body);
      const { status, headers } = answer;
      expect({
        path,
        status,
        retry: headers.get("retry-after"),
        detail: answer.body.detail,
      }).toEqual({ path, status: 503, retry: "10", detail: expect.stringMatching(SAYS) });
    }
    expect((await hub.call("GET", "/no-such-path")).status).toBe(404);
  });

  test("health names the disk and its bytes, on both sides (rules/operations#degraded-parts)", async () => {
    const told = {
      degraded: [{ part: "disk", detail: expect.stringMatching(SAYS) }],
      disk: { status: "degraded", free_bytes: 1_000_000, reserve_bytes: 500_000_000 },
    };
    expect(await health()).toMatchObject({ status: "degraded", ...told });
    expect((await hub.call("GET", "/api/v1/health")).body).toMatchObject({ ok: true, ...told });
  });

  test("reads, settings and deletes go on, and so does what runs, to its end", async () => {
    expect((await hub.call("GET", "/jobs")).status).toBe(200);
    expect((await hub.call("PATCH", "/settings", { preview_interval_s: 3 })).status).toBe(200);
    await worker.putAsset(running, "body", { name: "a.txt", mime: "text/plain" });
    worker.finish(running);
    await hub.signals.next("job finished", { job_id: running.job_id });
    expect((await job(running.job_id)).status).toBe("completed");
    expect((await hub.call("DELETE", `/jobs/${running.job_id}`)).status).toBe(204);
  });

  test("a free lane takes no waiting job, which says what it waits for (rules/jobs#what-a-queued-job-waits-for)", async () => {
    await hub.ctx.dispatcher.exclusive(async () => {});
    expect(await job(waiting)).toMatchObject({
      status: "queued",
      waiting_for: { reason: "hub_disk_full", detail: expect.stringMatching(SAYS) },
    });
  });

  test("a claim gets no task, and a watch that is due makes no capture", async () => {
    const claimed = await hub.call("POST", "/api/v1/workers/p1/claim", PULLER);
    expect(claimed).toMatchObject({ status: 200, body: { batches: [] } });
    await hub.call("PATCH", `/watches/${watch}`, { enabled: true, every_s: 60 });
    expect(await watchOnce(hub.ctx)).toBe(Number.POSITIVE_INFINITY);
  });

  test("with room again a claim that waits is answered, the waiting job starts by itself, and work is taken", async () => {
    const wait_ms = 30_000;
    const claim = hub.call("POST", "/api/v1/workers/p1/claim", { ...PULLER, wait_ms });
    await setRoom("ok");
    expect((await worker.assigned.next()).job_id).toBe(waiting);
    expect((await claim).body.batches[0].tasks[0].pk).toBe("a");
    expect(await health()).toMatchObject({ status: "ok", degraded: [], disk: { status: "ok" } });
    expect(await submit()).toBeString();
  });
});

const refused = await noSmallDisk();
if (refused !== null) console.log(`no file system can be mounted here: ${refused}`);

test.skipIf(refused !== null)(
  "a real disk that fills up: the hub refuses work while it can still write, and takes it with room again (rules/storage#disk-reserve)",
  async () => {
    const data = join(mkdtempSync(join(tmpdir(), "flotilla-reserve-")), "data");
    mkdirSync(data);
    const argv = [...PROGRAM, "hub", "--host", "127.0.0.1", "--port", "0"];
    const env = { SVC_DATA_DIR: data, SVC_DISK_RESERVE_BYTES: "20000000", SVC_SUBMIT_WAIT_S: "0" };
    const small = startOnSmallDisk(data, "48m", argv, env);
    try {
      const url = await addressOf(small.program);
      const { call, health } = hubCalls(() => url, STEP_MS);
      const now = await health([]);
      expect(now.disk).toMatchObject({ status: "ok", reserve_bytes: 20_000_000 });
      const queued = await call("POST", "/jobs", { url: TARGET });
      expect(queued.body).toMatchObject({ waiting_for: { reason: "no_worker" } });
      await small.take(now.disk.free_bytes - 10_000_000);
      await until("a refusal", STEP_MS, async () => {
        const { status, body } = await call("POST", "/jobs", { url: TARGET });
        return (
          status === 503 && /^the disk of the database .* (9|10)\.\d MB free/.test(body.detail)
        );
      });
      const cancelled = await call("POST", `/jobs/${queued.body.job_id}/cancel`);
      expect(cancelled.status).toBe(200);
      await small.free();
      await health([]);
      const again = await call("POST", "/jobs", { url: TARGET });
      expect(again.body).toMatchObject({ waiting_for: { reason: "no_worker" } });
    } finally {
      small.program.kill("SIGTERM");
      await small.program.exited;
      rmSync(join(data, ".."), { recursive: true, force: true });
    }
  },
);

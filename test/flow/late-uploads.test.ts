import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import {
  assignment,
  CAPTURE,
  startWorkerRig,
  type WorkerRig,
} from "#test/support/rigs/worker-rig.ts";
import type { JobRun } from "#worker/browser/lanes/lane-browser.ts";

/** worker/README.md, Uploads: a hub that stores nothing holds no lane. */

const NEVER = new AbortController().signal;
const WHY = "HTTP 503: fault 503";

let rig: WorkerRig;
let clock: FakeClock;
afterEach(() => whileTimePasses(rig.close()));

async function start(env: Record<string, string> = {}, late_uploads = true): Promise<void> {
  clock = createFakeClock();
  const all = { SVC_DRAIN_TIMEOUT_S: "0", ...env };
  rig = await startWorkerRig({ clock, env: all, registered: { late_uploads } });
  rig.hub.fault = () => 503;
}

const logOf = (job_id: string) =>
  rig.peer.frames
    .flatMap((f) => (f.type === "JobLog" && f.job_id === job_id ? f.entries : []))
    .map(({ message }) => message)
    .join("\n");
/** Moves time on until `work` is done. Answers come in real time, so they are waited for in between. */
async function whileTimePasses<T>(work: Promise<T>): Promise<T> {
  let over = false;
  const ended = work.finally(() => {
    over = true;
  });
  ended.catch(() => {});
  while (!over) {
    await clock.advance(250);
    await systemClock.sleep(2);
  }
  return ended;
}
/** Captures a body on the disk, one in memory, and a document. */
async function capture(run: JobRun) {
  const large = await rig.spool(`lane-${run.job_id}/large.bin`, new Uint8Array(300_000).fill(7));
  const bytes = new TextEncoder().encode("small");
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  let freed = 0;
  const free = () => {
    freed += 1;
  };
  run.sink.putAsset(assetMeta("large.bin"), large);
  run.sink.putAsset(assetMeta("small.txt"), { path: "", bytes, size: bytes.length, sha256, free });
  run.sink.putDocument("page.html", "<p>page</p>");
  return { dir: dirname(large.path), freed: () => freed };
}
/** A run that is over while the hub stores nothing. */
async function runJob(job_id: string, lane_idx = 0, options: Record<string, unknown> = {}) {
  const assigned = assignment(job_id, lane_idx, 7);
  rig.peer.send({ ...assigned, options: { ...assigned.options, ...options } });
  const { run, end } = await rig.runs.next();
  const captured = await capture(run);
  return { run, end, ...captured };
}
const laneIs = (state: string) =>
  rig.peer.nextWhere(["LaneChanged"], ({ lane }) => lane.state === state);
/** What waits beside the lanes, once nothing runs any more. */
async function leftBehind(): Promise<string[]> {
  await rig.worker.stop();
  const dir = join(rig.dir, "uploads");
  return existsSync(dir) ? readdir(dir) : [];
}

describe("a job whose captured bodies the hub does not store", () => {
  test("gives its lane back, keeps them, and completes with all of them when there is space again", async () => {
    await start();
    const { run, end, dir, freed } = await runJob("j1");
    await whileTimePasses(run.sink.flush(NEVER));
    end({ capture: CAPTURE });
    expect(await rig.peer.next("JobUploading")).toMatchObject({ job_id: "j1", lease_token: 7 });
    expect((await laneIs("warm")).lane).toMatchObject({ lane_idx: 0, job_id: null });
    // The lane's directory goes with its reset.
    await rm(dir, { recursive: true });
    expect(freed()).toBe(1);

    // Meanwhile the lane is another job's.
    rig.peer.send(assignment("j2", 0, 8));
    (await rig.runs.next()).end();
    expect(await rig.peer.next("result")).toMatchObject({ job_id: "j2", status: "completed" });

    const since = clock.monotonic();
    await whileTimePasses(rig.hub.uploadsBegun(rig.hub.uploads.length + 20));
    // Longer than any other failure is tried.
    expect(clock.monotonic() - since).toBeGreaterThan(31_000);
    rig.hub.fault = () => null;
    const result = await whileTimePasses(rig.peer.next("result"));
    expect(result).toMatchObject({ job_id: "j1", status: "completed", capture: CAPTURE });
    expect([...rig.hub.stored].map(([path, { size }]) => [path, size]).sort()).toEqual([
      ["/workers/w1/jobs/j1/assets/large.bin", 300_000],
      ["/workers/w1/jobs/j1/assets/small.txt", 5],
      ["/workers/w1/jobs/j1/documents/page.html", 11],
    ]);
    const said = logOf("j1");
    expect(said).toContain(
      `the hub cannot store anything now, and what was captured waits on the worker: ${WHY}`,
    );
    expect(said).toContain(
      `3 files, 300 kB, wait 3600 s at most for the hub's store; the lane is given back: ${WHY}`,
    );
    expect(said).toMatch(/the hub stores again after \d+ s/);
    expect(said).not.toContain("sent again");
    expect(await leftBehind()).toEqual([]);
  });

  test("loses them when there is no space within SVC_UPLOAD_WAIT_S, and its log says why", async () => {
    await start({ SVC_UPLOAD_WAIT_S: "120" });
    const { run, end } = await runJob("j1");
    await whileTimePasses(run.sink.flush(NEVER));
    end({ capture: CAPTURE });
    await rig.peer.next("JobUploading");
    expect(await whileTimePasses(rig.peer.next("result"))).toMatchObject({
      status: "completed",
      capture: { captured: 0, lost: 2, reasons: { upload_failed: 2 } },
    });
    expect(logOf("j1")).toContain(`0 files stored, 0 B; 3 were not: ${WHY}`);
    expect(await leftBehind()).toEqual([]);
  });

  test("that is cancelled while it waits sends no result and leaves nothing", async () => {
    await start();
    const { run, end } = await runJob("j1");
    await whileTimePasses(run.sink.flush(NEVER));
    end({ capture: CAPTURE });
    await rig.peer.next("JobUploading");
    rig.peer.send({ type: "HubCancelJob", job_id: "j1", lease_token: 7, reason: "by the client" });
    await whileTimePasses(
      rig.peer.nextWhere(["JobLog"], ({ entries }) =>
        entries.some((e) => e.message === "stopped: by the client"),
      ),
    );
    expect(await leftBehind()).toEqual([]);
    expect(rig.peer.frames.some(({ type }) => type === "result")).toBe(false);
  });

  for (const [what, env, options, late_uploads] of [
    ["whose session is kept", {}, { keep_session: true }, true],
    ["beyond what the worker may keep", { SVC_SPOOL_MAX_BYTES: "200000" }, {}, true],
    ["with SVC_UPLOAD_WAIT_S=0", { SVC_UPLOAD_WAIT_S: "0" }, {}, true],
    ["of a hub that knows of no such jobs", {}, {}, false],
  ] as const)
    test(`${what} waits in its lane, 30 s for all of them together`, async () => {
      await start(env, late_uploads);
      const { run, end } = await runJob("j1", 0, options);
      for (let i = 0; i < 12; i += 1)
        run.sink.putAsset(
          assetMeta(`n${i}`),
          await rig.spool(`lane-j1/n${i}`, new Uint8Array(300_000)),
        );
      const flushed = await whileTimePasses(run.sink.flush(NEVER));
      end({ capture: { ...CAPTURE, seen: 14, captured: 14 } });
      const result = await whileTimePasses(rig.peer.next("result"));
      const lost = flushed.failed.length + (result.capture?.lost ?? 0);
      expect(lost).toBeGreaterThanOrEqual(14);
      // When the time of the first four is over, after a dozen tries each, the others are tried once more; alone each of the 15
      // would be tried as often as they.
      expect(rig.hub.uploads.length).toBeLessThan(120);
      expect(rig.peer.frames.some(({ type }) => type === "JobUploading")).toBe(false);
      expect(logOf("j1")).toContain(WHY);
    });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import {
  assignment,
  CAPTURE,
  startWorkerRig,
  type WorkerRig,
} from "#test/support/rigs/worker-rig.ts";

let rig: WorkerRig;
beforeEach(async () => {
  rig = await startWorkerRig({ env: { SVC_DRAIN_TIMEOUT_S: "0" } });
});
afterEach(() => rig.close());

const laneIs = async (state: string) => {
  for (;;) {
    const { lane } = await rig.peer.next("LaneChanged");
    if (lane.state === state) return lane;
  }
};
/** Types of what the hub got about one job, in order; neighbours of one type count once. */
const story = (job_id: string) =>
  rig.peer.frames
    .filter((f) => "job_id" in f && f.job_id === job_id)
    .map((f) => f.type)
    .filter((type, i, all) => type !== all[i - 1]);
const logOf = (job_id: string) =>
  rig.peer.frames.flatMap((f) => (f.type === "JobLog" && f.job_id === job_id ? f.entries : []));

describe("an assignment (rules/worker-link#an-assignment-on-the-worker)", () => {
  test("is accepted, run, uploaded, reported and acknowledged before its lane is reset", async () => {
    rig.pool.holdResets();
    rig.hub.acknowledge = false;
    rig.peer.send(assignment("j1", 1, 7));
    expect(await rig.peer.next("JobAccepted")).toEqual({
      type: "JobAccepted",
      job_id: "j1",
      lease_token: 7,
    });
    const { run, end } = await rig.runs.next();
    expect(run).toMatchObject({
      job_id: "j1",
      url: "http://site.test/",
      options: { mode: "fetch" },
    });
    const body = await rig.spool("a.png", "pixels");
    run.sink.putAsset(assetMeta("a.png"), body);
    run.sink.putDocument("page.html", "<html>é</html>");
    end({ capture: CAPTURE });
    const result = await rig.peer.next("result");
    expect(result).toEqual({
      type: "result",
      job_id: "j1",
      lease_token: 7,
      status: "completed",
      error: null,
      stage: null,
      http_status: 200,
      final_url: "http://site.test/",
      title: "Site",
      capture: CAPTURE,
    });
    expect([...rig.hub.stored].map(([path, { size }]) => [path, size]).sort()).toEqual([
      ["/workers/w1/jobs/j1/assets/a.png", 6],
      ["/workers/w1/jobs/j1/documents/page.html", 15],
    ]);
    expect(rig.hub.uploads.map((u) => [u.lease_token, u.authorization])).toEqual(
      Array(2).fill(["7", "Bearer upload-token-1"]),
    );
    expect(existsSync(body.path)).toBe(false);
    expect(rig.pool.lanes()[1]?.state).toBe("running");
    rig.peer.send({ type: "HubResultAck", job_id: "j1", lease_token: 7, accepted: true });
    expect(await laneIs("resetting")).toMatchObject({ lane_idx: 1, job_id: "j1" });
    rig.pool.letReset();
    expect(await laneIs("warm")).toMatchObject({ lane_idx: 1, job_id: null, session_id: null });
  });

  test("tells its log in order, and all of it before the result", async () => {
    rig.peer.send(assignment("j1"));
    const { run, end } = await rig.runs.next();
    for (let i = 0; i < 450; i += 1) run.story.log("info", "navigate", `line ${i}`);
    end();
    await rig.peer.next("result");
    expect(story("j1")).toEqual(["JobAccepted", "JobLog", "result"]);
    const entries = logOf("j1");
    expect(entries.filter((e) => e.stage === "navigate").map((e) => e.message)).toEqual(
      Array.from({ length: 450 }, (_, i) => `line ${i}`),
    );
    expect(entries.map((e) => e.stage).filter((s, i, all) => s !== all[i - 1])).toEqual([
      "lane",
      "navigate",
    ]);
  });

  test("is refused with the reason when its lane is busy, and changes nothing", async () => {
    rig.peer.send(assignment("j1", 0));
    await rig.runs.next();
    rig.peer.send(assignment("j2", 0));
    expect(await rig.peer.next("JobRefused")).toEqual({
      type: "JobRefused",
      job_id: "j2",
      lease_token: 1,
      reason: "lane 0 is not warm and free",
    });
    expect(rig.runs.all.length).toBe(1);
  });

  test("is refused when its lane does not exist", async () => {
    rig.peer.send(assignment("j1", 9));
    expect((await rig.peer.next("JobRefused")).reason).toBe("lane 9 is not warm and free");
  });

  test("becomes a failed result when the browser does not start", async () => {
    rig.pool.failBrowser("chromium exited with 1");
    rig.peer.send(assignment("j1"));
    expect(await rig.peer.next("result")).toMatchObject({
      status: "failed",
      error: "chromium exited with 1",
      stage: "lane",
    });
  });

  test("becomes a failed result when the run throws", async () => {
    rig.peer.send(assignment("j1"));
    (await rig.runs.next()).fail(new Error("a bug"));
    expect(await rig.peer.next("result")).toMatchObject({ status: "failed", error: "a bug" });
  });

  test("becomes a failed result when its options are of another version", async () => {
    rig.peer.send({ ...assignment("j1"), options: { newer_option: 1 } });
    const { status, error } = await rig.peer.next("result");
    expect(status).toBe("failed");
    expect(error).toContain("newer_option");
  });

  test("over-long texts of an outcome are cut to what the link allows", async () => {
    rig.peer.send(assignment("j1"));
    const { end } = await rig.runs.next();
    end({ title: "t".repeat(9_000), error: "\0".repeat(9_000), final_url: "u".repeat(99_000) });
    const result = await rig.peer.next("result");
    expect([result.title, result.error, result.final_url].map((s) => s?.length)).toEqual([
      4_096, 4_096, 70_000,
    ]);
    expect(result.error).not.toContain("\0");
  });

  test("a result that the hub refuses is logged, and the lane is reset all the same", async () => {
    rig.hub.acknowledge = false;
    rig.peer.send(assignment("j1"));
    (await rig.runs.next()).end();
    await rig.peer.next("result");
    rig.peer.send({ type: "HubResultAck", job_id: "j1", lease_token: 1, accepted: false });
    await rig.log.next((l) => l.message === "result refused: the lease had moved on");
    await laneIs("warm");
  });

  test("uploads that failed for good move from captured to lost in the report", async () => {
    rig.hub.fault = ({ path }) => (path.endsWith("a.png") ? 413 : null);
    rig.peer.send(assignment("j1"));
    const { run, end } = await rig.runs.next();
    run.sink.putAsset(assetMeta("a.png"), await rig.spool("a.png", "a"));
    run.sink.putAsset(assetMeta("b.png"), await rig.spool("b.png", "b"));
    end({ capture: CAPTURE });
    expect((await rig.peer.next("result")).capture).toEqual({
      ...CAPTURE,
      captured: 1,
      lost: 1,
      ratio: 0.5,
      reasons: { upload_failed: 1 },
    });
  });
});

test("failures that the run has counted itself are not counted again", async () => {
  rig.hub.fault = () => 413;
  rig.peer.send(assignment("j1"));
  const { run, end } = await rig.runs.next();
  run.sink.putAsset(assetMeta("a.png"), await rig.spool("a.png", "a"));
  expect((await run.sink.flush(new AbortController().signal)).failed.length).toBe(1);
  const capture = { ...CAPTURE, captured: 1, lost: 1, ratio: 0.5, reasons: { upload_failed: 1 } };
  end({ capture });
  expect((await rig.peer.next("result")).capture).toEqual(capture);
});

describe("a cancel (rules/worker-link#an-assignment-on-the-worker)", () => {
  test("aborts the run, keeps what was uploaded, sends no result and resets the lane", async () => {
    rig.peer.send(assignment("j1"));
    const { run, end } = await rig.runs.next();
    const asset = await rig.spool("a.png", "a");
    run.signal.addEventListener("abort", () => {
      run.sink.putAsset(assetMeta("a.png"), asset);
      end();
    });
    rig.peer.send({ type: "HubCancelJob", job_id: "j1", lease_token: 1, reason: "by the client" });
    await laneIs("warm");
    expect(rig.hub.stored.has("/workers/w1/jobs/j1/assets/a.png")).toBe(true);
    expect(story("j1")).toEqual(["JobAccepted", "JobLog"]);
    expect(logOf("j1").at(-1)?.message).toBe("stopped: by the client");
  });

  test("does not wait for its uploads longer than 2 s", async () => {
    await rig.close();
    const clock = createFakeClock();
    rig = await startWorkerRig({ clock });
    rig.hub.fault = () => "hold";
    rig.peer.send(assignment("j1"));
    const { run, end } = await rig.runs.next();
    run.sink.putAsset(assetMeta("a.png"), await rig.spool("a.png", "a"));
    await rig.hub.uploadsBegun(1);
    rig.peer.send({ type: "HubCancelJob", job_id: "j1", lease_token: 1, reason: "by the client" });
    run.signal.addEventListener("abort", () => end());
    await clock.sleeperIn(2_000);
    await clock.advance(2_000);
    await laneIs("warm");
    expect(story("j1")).not.toContain("result");
  });

  test("of another lease is stale and changes nothing", async () => {
    rig.peer.send(assignment("j1", 0, 5));
    const { run, end } = await rig.runs.next();
    rig.peer.send({ type: "HubCancelJob", job_id: "j1", lease_token: 4, reason: "old" });
    rig.peer.send({ type: "HubCancelJob", job_id: "j0", lease_token: 5, reason: "unknown" });
    await rig.log.next((l) => l.message === "stale cancel ignored" && l.job_id === "j0");
    expect(run.signal.aborted).toBe(false);
    end();
    expect((await rig.peer.next("result")).status).toBe("completed");
  });
});

describe("link loss (a worker holds nothing that cannot be lost: rules/worker-link#link-loss-on-the-worker)", () => {
  test("aborts every run, resets the lanes, and nothing of them is sent on the next link", async () => {
    rig.pool.holdResets();
    rig.hub.fault = () => "hold";
    rig.peer.send(assignment("j1", 0));
    rig.peer.send(assignment("j2", 1));
    const [first, second] = [await rig.runs.next(), await rig.runs.next()];
    const body = await rig.spool("a.png", "a");
    first.run.sink.putAsset(assetMeta("a.png"), body);
    await rig.hub.uploadsBegun(1);
    first.end();
    const aborted = new Promise((resolve) => second.run.signal.addEventListener("abort", resolve));
    rig.peer.terminate();
    await aborted;
    const next = await rig.hub.nextPeer();
    const registration = await next.register();
    expect(registration.lanes.map((l) => l.state)).not.toContain("warm");
    second.run.story.log("info", "page", "too late");
    second.end();
    rig.pool.letReset();
    const freed = new Set<number>();
    while (freed.size < 2) {
      const { lane } = await next.next("LaneChanged");
      if (lane.state === "warm") freed.add(lane.lane_idx);
    }
    expect(existsSync(body.path)).toBe(false);
    expect(next.frames.filter((f) => "job_id" in f)).toEqual([]);
  });
});

describe("stop", () => {
  test("drains in order: refuses, waits for runs, closes the link with 1001, closes the lanes", async () => {
    await rig.close();
    rig = await startWorkerRig();
    rig.peer.send(assignment("j1", 0));
    const { end } = await rig.runs.next();
    const stopped = rig.worker.stop();
    expect(rig.worker.stop()).toBe(stopped);
    expect(await laneIs("dead")).toMatchObject({ lane_idx: 1, reason: "worker is stopping" });
    rig.peer.send(assignment("j2", 1));
    expect((await rig.peer.next("JobRefused")).reason).toBe("worker is stopping");
    expect(rig.pool.closed).toBe(false);
    end();
    expect((await rig.peer.next("result")).status).toBe("completed");
    expect((await rig.peer.closed).code).toBe(1001);
    await stopped;
    expect(rig.pool.closed).toBe(true);
    expect(await rig.worker.exited).toBe(0);
  });

  test("cancels what still runs at the drain deadline (SVC_DRAIN_TIMEOUT_S)", async () => {
    rig.peer.send(assignment("j1", 0));
    const { run, end } = await rig.runs.next();
    run.signal.addEventListener("abort", () => end());
    await rig.worker.stop();
    expect(run.signal.aborted).toBe(true);
    expect(story("j1")).not.toContain("result");
    expect(rig.pool.lanes()[0]?.state).toBe("warm");
  });
});

test("a run that ignores its abort is left behind after 5 s and its lane reset", async () => {
  await rig.close();
  const clock = createFakeClock();
  rig = await startWorkerRig({ clock });
  rig.peer.send(assignment("j1"));
  await rig.runs.next();
  rig.peer.send({ type: "HubCancelJob", job_id: "j1", lease_token: 1, reason: "by the client" });
  await clock.sleeperIn(5_000);
  await clock.advance(5_000);
  await laneIs("warm");
});

test("a run that outlasts every wait its options allow is failed", async () => {
  await rig.close();
  const clock = createFakeClock();
  rig = await startWorkerRig({ clock, env: { SVC_WORKER_WATCHDOG_LINK_THRESHOLD_S: "0" } });
  const budget_s = 20 + 3 + 60 + 5 + 900;
  rig.peer.send(assignment("j1"));
  const { run, end } = await rig.runs.next();
  run.signal.addEventListener("abort", () => end({ status: "failed", error: "cancelled" }));
  await clock.advance(budget_s * 1000 - 1);
  expect(run.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(await rig.peer.next("result")).toMatchObject({
    status: "failed",
    error: `the run did not end within ${budget_s} s`,
  });
});

test("a silent hub ends the worker with exit code 70 (rules/workers#silence-watchdog)", async () => {
  await rig.close();
  const clock = createFakeClock();
  rig = await startWorkerRig({ clock, env: { SVC_WORKER_WATCHDOG_LINK_THRESHOLD_S: "20" } });
  let code: number | null = null;
  void rig.worker.exited.then((c) => {
    code = c;
  });
  await clock.advance(20_000);
  expect(code).toBeNull();
  await clock.advance(5_000);
  expect(await rig.worker.exited).toBe(70);
});

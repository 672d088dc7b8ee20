import { afterEach, expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakePool } from "#test/support/fakes/fake-lanes.ts";
import { objectsHeld } from "#test/support/models/heap.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { assignment, startWorkerRig, type WorkerRig } from "#test/support/rigs/worker-rig.ts";
import { watchTrouble } from "#worker/browser/fetch/trouble.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { startWorker } from "#worker/program/start.ts";
import type { WorkerParts } from "#worker/program/worker-deps.ts";

let rig: WorkerRig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

const deps = (env: Record<string, string>) => ({
  config: loadWorkerConfig(env, {}),
  log: silentLog,
  clock: systemClock,
  version: "v1",
});
const parts = (createLanePool: WorkerParts["createLanePool"]): WorkerParts => ({
  createLanePool,
  runFetch: () => Promise.reject(new Error("no job runs here")),
  runScripted: () => Promise.reject(new Error("no script runs here")),
  startBridges: async () => ({ close: async () => {} }),
  loadPlaywright: async () => {},
  random: Math.random,
});

test("a worker without HUB_URL does not start its lanes", async () => {
  const pools = createQueue<string>();
  const never = async () => {
    pools.push("created");
    return createFakePool();
  };
  await expect(startWorker(deps({}), parts(never))).rejects.toThrow(ConfigError);
  expect(pools.all).toEqual([]);
});

test("what the lanes cannot start with is passed on, for exit code 3", async () => {
  class MissingProgramError extends Error {}
  const missing = () => Promise.reject(new MissingProgramError("Xvnc is not installed"));
  const starting = startWorker(deps({ HUB_URL: "ws://127.0.0.1:1" }), parts(missing));
  await expect(starting).rejects.toThrow(MissingProgramError);
});

test("a worker that never reached its hub stops at once and closes its lanes", async () => {
  const pool = createFakePool();
  const worker = await startWorker(
    deps({ HUB_URL: "ws://127.0.0.1:1" }),
    parts(async () => pool),
  );
  await Promise.all([worker.stop(), worker.stop()]);
  expect(await worker.exited).toBe(0);
  expect(pool.closed).toBe(true);
});

test("viewer URLs follow NOVNC_PUBLIC_HOST and NOVNC_BASE_PORT, one per lane (rules/lanes#viewer-links-of-a-lane)", async () => {
  rig = await startWorkerRig({
    lanes: 3,
    env: { NOVNC_PUBLIC_HOST: "lan", NOVNC_BASE_PORT: "7000" },
  });
  expect(rig.peer.frames[0]).toMatchObject({
    worker_id: "w1",
    capabilities: {
      max_concurrent: 3,
      lane_novnc_urls: ["http://lan:7000/", "http://lan:7001/", "http://lan:7002/"],
    },
  });
});

test("no more than MAX_CONCURRENT jobs run, whatever lanes are free (rules/workers#lanes-of-a-worker)", async () => {
  rig = await startWorkerRig({ lanes: 2, env: { MAX_CONCURRENT: "1" } });
  rig.pool.holdResets();
  rig.peer.send(assignment("j1", 0));
  const first = await rig.runs.next();
  rig.peer.send(assignment("j2", 1));
  expect((await rig.peer.next("JobRefused")).reason).toContain("MAX_CONCURRENT");
  first.end();
  await rig.peer.next("result");
  // A lane that is being reset does not count.
  while ((await rig.peer.next("LaneChanged")).lane.state !== "resetting");
  rig.peer.send(assignment("j3", 1));
  expect((await rig.peer.next("JobAccepted")).job_id).toBe("j1");
  expect((await rig.peer.next("JobAccepted")).job_id).toBe("j3");
});

test("memory is flat over 2,000 jobs, also of what waits for what may end a job early", async () => {
  const warm = await startWorkerRig();
  rig = warm;
  const runJobs = async (count: number) => {
    for (let i = 0; i < count; i += 1) {
      warm.peer.send(assignment(`j${i}`, i % 2, i));
      const { run, end } = await warm.runs.next();
      watchTrouble(run, systemClock);
      end();
      await warm.peer.next("result");
      while ((await warm.peer.next("LaneChanged")).lane.state !== "warm");
      warm.peer.forget();
      warm.runs.clear();
      warm.log.clear();
    }
    return objectsHeld();
  };
  const before = await runJobs(500);
  const after = await runJobs(2_000);
  // Even one object kept per job would be 2,000.
  expect(after - before).toBeLessThan(1_000);
}, 180_000);

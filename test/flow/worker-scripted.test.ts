import { afterEach, expect, test } from "bun:test";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { assignment, startWorkerRig, type WorkerRig } from "#test/support/rigs/worker-rig.ts";
import type { ScriptedRun } from "#worker/browser/scripted/run-scripted.ts";

/** The worker's side of a scripted job (rules/scripts#start-of-a-scripted-job), with lanes and a page that the test plays. */

let rig: WorkerRig;
afterEach(() => rig.close());

/** The fake hub answers no heartbeat. */
const start = async (clock: FakeClock): Promise<void> => {
  const env = { SVC_WORKER_WATCHDOG_LINK_THRESHOLD_S: "0" };
  rig = await startWorkerRig({ clock, env });
};
/** Longer than every wait of the options and the margin for reading and uploading together. */
const OVER_MS = 1_100_000;
const scripted = (job_id: string) => ({
  ...assignment(job_id),
  options: { ...JobOptions.parse({ mode: "rerun", code: "log(1)", attempt_timeout_s: 864_000 }) },
});

test("the page is told to be ready, and held beyond every budget of a page until the hub ends the run", async () => {
  const clock = createFakeClock();
  await start(clock);
  rig.peer.send(scripted("j1"));
  const { run, end } = await rig.runs.next();
  const { ready, ended } = run as ScriptedRun;
  await ready({ target_id: "t1", takeName: (name) => name, keepCapture: async () => {} });
  expect(await rig.peer.next("RunReady")).toMatchObject({ job_id: "j1", lease_token: 1 });
  await clock.advance(OVER_MS);
  expect(run.signal.aborted).toBe(false);
  const stale = { status: "completed", error: null, stage: null } as const;
  rig.peer.send({ type: "HubEndRun", job_id: "j1", lease_token: 9, ...stale });
  const last = { status: "failed", error: "no success", stage: "run" } as const;
  rig.peer.send({ type: "HubEndRun", job_id: "j1", lease_token: 1, ...last });
  expect(await ended).toMatchObject(last);
  end(last);
  expect(await rig.peer.next("result")).toMatchObject({ job_id: "j1", ...last });
});

test("a page that never opens ends with the run's budget", async () => {
  const clock = createFakeClock();
  await start(clock);
  rig.peer.send(scripted("j1"));
  await rig.runs.next();
  await clock.advance(OVER_MS);
  const result = await rig.peer.next("result");
  expect(result).toMatchObject({ job_id: "j1", status: "failed" });
  expect(result.error).toContain("the run did not end within");
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  ALL_MS,
  AT_WORK,
  type FleetUnderLoad,
  fleetUnderLoad,
  JOBS,
  SLOW_MS,
  seconds,
} from "#test/support/rigs/fleet-under-load.ts";

/** A hub that is stopped, or killed, under load and started again on its data. */

const flotilla = binaryRig();
let fleet: FleetUnderLoad;
beforeAll(async () => {
  fleet = fleetUnderLoad(flotilla, "upgrade");
  await fleet.start();
}, 2 * SLOW_MS);
afterAll(() => fleet?.remove());

const HOW = {
  stopped: { signal: "SIGTERM", code: 0 },
  killed: { signal: "SIGKILL", code: 137 },
} as const;
for (const [how, { signal, code }] of Object.entries(HOW))
  test(
    `a hub that is ${how} under load and started again loses no job, no task and no session`,
    async () => {
      const { site, within } = fleet;
      const { path, watched } = await fleet.openSession(how);
      await within("before", watched);
      site.hold(true);
      const names = Array.from({ length: JOBS }, (_, n) => `${how}-${n}`);
      const job_ids = await fleet.submitJobs(names);
      await until("jobs at work", SLOW_MS, () => site.waiting.size === AT_WORK);
      const ran = join(fleet.dir, `${how}.log`);
      const pks = await fleet.submitTasks(how, ran);
      await until("a task", SLOW_MS, async () => (await fleet.runsOf(how)).length > 0);

      const asked_at = performance.now();
      expect(await flotilla.end(fleet.hub, signal)).toBe(code);
      const ended_at = performance.now();
      // One ends while there is no hub, the other one later.
      site.letOne();
      fleet.startHub();
      await within("after", watched);
      site.hold(false);

      const jobs = await Promise.all(job_ids.map(fleet.ended));
      const failures = jobs.filter(({ status }) => status !== "completed");
      expect(failures.map(({ job_id, status, error }) => ({ job_id, status, error }))).toEqual([]);
      expect(names.map((name) => site.asked.get(`/job/${name}`))).toEqual(names.map(() => 1));
      const tasks = await fleet.everyTaskDone(how, pks, ran);

      await within("at the end", watched);
      await Promise.all(watched.map((one) => one.end()));
      expect(site.asked.get(`/${how}`)).toBe(1);
      const troubles = watched.flatMap((one) => [...one.troubles]).join("\n");
      // 503 while its worker is not back; 502 for a call that the stop cut off.
      expect(troubles).not.toMatch(/session: (?!502|503)|closed with 4404/);
      expect((await fleet.send("DELETE", path)).status).toBe(204);
      await fleet.everyLaneWarm();

      const account = watched.map(({ name, longest }) => `${name} ${seconds(longest)}`);
      console.log(
        `hub ${how}: ${jobs.length} jobs completed, ${tasks} tasks done, ` +
          `its end took ${seconds(ended_at - asked_at)}; longest interruption: ${account.join(", ")}`,
      );
    },
    2 * SLOW_MS + ALL_MS,
  );

test(
  "the workers were the same processes all the while, and end as they are told",
  async () => {
    const workers = [...fleet.workers.values()];
    const codes = await Promise.all(workers.map((worker) => flotilla.end(worker, "SIGTERM")));
    expect(codes).toEqual(workers.map(() => 0));
    expect(await flotilla.end(fleet.hub, "SIGTERM")).toBe(0);
  },
  SLOW_MS,
);

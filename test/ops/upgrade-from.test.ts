import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  AT_WORK,
  BROWSER_WORKERS,
  type FleetUnderLoad,
  fleetUnderLoad,
  JOBS,
  PULL_WORKER,
  SLOW_MS,
  seconds,
  watchHealth,
} from "#test/support/rigs/fleet-under-load.ts";
import { runProgram } from "#test/support/rigs/program.ts";

/**
 * From another version to this one and back, under load, as the guide says it (how-to/upgrades) and without its first
 * step. FLOTILLA_UPGRADE_FROM is the executable of that version; without it there is nothing to test.
 */

/** Workers drain, stage and start anew, with browsers that a machine at a load of 70 starts in a minute. */
const FOLLOW_MS = 900_000;
const TEST_MS = 3 * FOLLOW_MS;
const OTHER = process.env.FLOTILLA_UPGRADE_FROM;
const flotilla = binaryRig();
const fleets: FleetUnderLoad[] = [];
afterAll(() => Promise.all(fleets.map((fleet) => fleet.remove())));

/** Executables. */
interface Versions {
  from: string;
  to: string;
}
const WAYS: Record<string, (other: string) => Versions> = {
  "an upgrade from the other version": (other) => ({ from: other, to: flotilla.path }),
  "a downgrade to the other version": (other) => ({ from: flotilla.path, to: other }),
};

const versionOf = async (binary: string) =>
  (await runProgram([binary, "--version"])).stdout.trim().replace("flotilla ", "");
const named = (kind: string, n: number) => Array.from({ length: n }, (_, i) => `${kind}-${i}`);

async function startFleet(name: string, binary: string): Promise<FleetUnderLoad> {
  const fleet = fleetUnderLoad(flotilla, name);
  fleets.push(fleet);
  await fleet.start(binary);
  return fleet;
}

/** Jobs and tasks at work and waiting, and a session with its people. */
async function load(fleet: FleetUnderLoad) {
  const session = await fleet.openSession("session");
  await fleet.within("before", session.watched);
  fleet.site.hold(true);
  const names = named("job", JOBS);
  const job_ids = await fleet.submitJobs(names);
  await until("jobs at work", SLOW_MS, () => fleet.site.waiting.size === AT_WORK);
  const ran = join(fleet.dir, "ran.log");
  const pks = await fleet.submitTasks("tasks", ran);
  await until("a task", SLOW_MS, async () => (await fleet.runsOf("tasks")).length > 0);
  return { session, names, job_ids, ran, pks };
}

async function everyWorkerHas(fleet: FleetUnderLoad, version: string): Promise<void> {
  const all = async () => [
    ...(await fleet.browserWorkers()),
    ...(await fleet.send("GET", "/api/v1/workers")).body.workers,
  ];
  const has = (worker: { version: string; alive?: boolean }) =>
    worker.version === version && worker.alive !== false;
  const moved = async () => (await all()).filter(has).length === BROWSER_WORKERS.length + 1;
  await until(`workers of version ${version}`, FOLLOW_MS, moved).catch(async (err) => {
    const said = [...fleet.workers].map(([id, { stderr }]) => `${id}:\n${stderr.slice(-4_000)}`);
    throw new Error([err, JSON.stringify(await all()), ...said].join("\n"));
  });
}

async function replaceHub(fleet: FleetUnderLoad, binary: string): Promise<void> {
  expect(await flotilla.end(fleet.hub, "SIGTERM")).toBe(0);
  fleet.startHub(binary);
  await fleet.hub.says("hub started", SLOW_MS);
}

async function endAll(fleet: FleetUnderLoad): Promise<void> {
  await fleet.everyLaneWarm();
  for (const worker of fleet.workers.values())
    expect(await flotilla.end(worker, "SIGTERM")).toBe(0);
  expect(await flotilla.end(fleet.hub, "SIGTERM")).toBe(0);
}

async function documentedWay(way: string, { from, to }: Versions): Promise<void> {
  const fleet = await startFleet("documented", from);
  if (!(await takesDataOf(fleet, to))) {
    await endAll(fleet);
    return byBackup(way, { from, to });
  }
  const operator = { env: { SVC_HUB: fleet.url } };
  const done = async (...words: string[]) =>
    expect(await flotilla.run(["fleet", ...words], operator)).toMatchObject({ code: 0 });
  const { session, names, job_ids, ran, pks } = await load(fleet);
  const api = watchHealth(fleet.send);

  const drain = flotilla.start(["fleet", "drain"], operator);
  await drain.says("waiting for jobs and sessions on w1 (", SLOW_MS);
  names.push(...named("late", AT_WORK));
  job_ids.push(...(await fleet.submitJobs(named("late", AT_WORK))));
  // Who has the session is told, and ends it.
  await fleet.within("while the workers drain", session.watched);
  await Promise.all(session.watched.map((one) => one.end()));
  expect((await fleet.send("DELETE", session.path)).status).toBe(204);
  fleet.site.hold(false);
  expect(await flotilla.exitCode(drain)).toBe(0);
  const drained_at = performance.now();
  expect(await fleet.runningJobs()).toBe(0);

  await replaceHub(fleet, to);
  await done("activate");
  await everyWorkerHas(fleet, await versionOf(to));
  const followed_at = performance.now();

  // Their executables are replaced one by one, while the others work.
  names.push(...named("more", JOBS));
  job_ids.push(...(await fleet.submitJobs(named("more", JOBS))));
  for (const id of [...BROWSER_WORKERS, PULL_WORKER]) {
    const is_browser = id !== PULL_WORKER;
    if (is_browser) await done("drain", id);
    expect(await flotilla.end(fleet.worker(id), "SIGTERM")).toBe(0);
    fleet.startWorker(id, to);
    if (is_browser) await done("activate", id);
  }

  const jobs = await Promise.all(job_ids.map(fleet.ended));
  const failures = jobs.filter(({ status }) => status !== "completed");
  expect(failures.map(({ job_id, status, error }) => ({ job_id, status, error }))).toEqual([]);
  expect(names.map((name) => fleet.site.asked.get(`/job/${name}`))).toEqual(names.map(() => 1));
  const tasks = await fleet.everyTaskDone("tasks", pks, ran);
  await fleet.everyLaneWarm();
  const after = await fleet.openSession("after");
  await fleet.within("after", after.watched);
  await Promise.all([api, ...after.watched].map((one) => one.end()));
  expect((await fleet.send("DELETE", after.path)).status).toBe(204);
  await endAll(fleet);
  const watched = session.watched.map(({ name, longest }) => `${name} ${seconds(longest)}`);
  console.log(
    `${way}: ${jobs.length} jobs submitted, ${jobs.length} completed, 0 failed; ${tasks} tasks done once each; ` +
      `1 session ended by who had it, 1 opened afterwards; longest interruption until then: ${watched.join(", ")}; ` +
      `of the API: ${seconds(api.longest)}; all workers on the new version ${seconds(followed_at - drained_at)} after the drain`,
  );
}

async function withoutDrain(way: string, { from, to }: Versions): Promise<void> {
  const fleet = await startFleet("undrained", from);
  // Then there is no such way: the older hub does not start, as the other test sees.
  if (!(await takesDataOf(fleet, to))) return endAll(fleet);
  const { session, job_ids, ran, pks } = await load(fleet);
  const api = watchHealth(fleet.send);
  await replaceHub(fleet, to);
  fleet.site.hold(false);
  // A hub that takes up what its predecessor ran leaves nothing to fail; the session then ends with its people.
  await fleet.within("after the hub", session.watched);
  const taken_up = (await fleet.send("GET", session.path)).status === 200;
  if (taken_up) {
    await Promise.all(session.watched.map((one) => one.end()));
    expect((await fleet.send("DELETE", session.path)).status).toBe(204);
  }
  await everyWorkerHas(fleet, await versionOf(to));

  const jobs = await Promise.all(job_ids.map(fleet.ended));
  const failed = jobs.filter(({ status }) => status !== "completed");
  for (const { status, error } of failed)
    expect({ status, error }).toEqual({
      status: "failed",
      error: expect.stringMatching(/^orchestrator killed by hub restart: /),
    });
  expect(failed.length).toBe(taken_up ? 0 : AT_WORK);
  const tasks = await fleet.everyTaskDone("tasks", pks, ran);
  expect((await fleet.send("GET", session.path)).status).toBe(404);
  await api.end();
  if (!taken_up) {
    await Promise.all(session.watched.map((one) => one.end()));
    const viewer = session.watched.find(({ name }) => name === "viewer");
    expect([...(viewer?.troubles ?? [])].join("\n")).toContain("4404");
  }
  await endAll(fleet);
  console.log(
    `${way}, workers not drained: ${jobs.length} jobs submitted, ${jobs.length - failed.length} completed, ` +
      `${failed.length} failed (${failed[0]?.error ?? "none"}); ${tasks} tasks done once each; ` +
      `1 session ${taken_up ? "went on until it was ended" : "over, its viewer was told 4404"}; ` +
      `longest interruption of the API: ${seconds(api.longest)}`,
  );
}

/** Whether the older version's hub takes the data of a newer one. */
async function takesDataOf(newer: FleetUnderLoad, older: string): Promise<boolean> {
  const argv = [older, "migrate", "--dry-run", "--data-dir", join(newer.dir, "hub")];
  return !(await runProgram(argv)).stderr.includes("newer than this program");
}

/** The newer version changed tables: the way back is the backup from before. */
async function byBackup(way: string, { from: newer, to: older }: Versions): Promise<void> {
  const fleet = await startFleet("backup", older);
  const operator = { env: { SVC_HUB: fleet.url } };
  const done = async (...words: string[]) =>
    expect(await flotilla.run(["fleet", ...words], operator)).toMatchObject({ code: 0 });
  const data = ["--data-dir", join(fleet.dir, "hub")];
  const file = join(fleet.dir, "before-upgrade.tar.gz");
  const { session, job_ids, ran, pks } = await load(fleet);
  await Promise.all(session.watched.map((one) => one.end()));
  expect((await fleet.send("DELETE", session.path)).status).toBe(204);
  fleet.site.hold(false);
  await Promise.all(job_ids.map(fleet.ended));
  const tasks = await fleet.everyTaskDone("tasks", pks, ran);
  await done("drain");
  expect(await runProgram([older, "backup", file, ...data])).toMatchObject({ code: 0 });

  await replaceHub(fleet, newer);
  await done("activate");
  await everyWorkerHas(fleet, await versionOf(newer));
  const since = await fleet.submitJobs(named("since", JOBS));
  for (const job of await Promise.all(since.map(fleet.ended)))
    expect(job).toMatchObject({ status: "completed" });
  await done("drain");
  expect(await flotilla.end(fleet.hub, "SIGTERM")).toBe(0);

  fleet.startHub(older);
  expect(await flotilla.exitCode(fleet.hub)).toBe(2);
  expect(fleet.hub.stderr).toContain("the database is newer than this program");
  expect(await flotilla.run(["restore", file, ...data, "--force"])).toMatchObject({ code: 0 });
  fleet.startHub(older);
  await fleet.hub.says("hub started", SLOW_MS);
  await done("activate");
  await everyWorkerHas(fleet, await versionOf(older));
  for (const id of job_ids)
    expect((await fleet.send("GET", `/jobs/${id}`)).body).toMatchObject({ status: "completed" });
  for (const id of since) expect((await fleet.send("GET", `/jobs/${id}`)).status).toBe(404);
  expect(await fleet.runsOf("tasks")).toHaveLength(tasks);
  const again = await fleet.submitJobs(named("again", JOBS));
  for (const job of await Promise.all(again.map(fleet.ended)))
    expect(job).toMatchObject({ status: "completed" });
  await endAll(fleet);
  console.log(
    `${way}, by the backup: ${job_ids.length} jobs and ${tasks} tasks from before it are there, ${since.length} jobs done since are gone with ` +
      `the newer version's data; ${again.length} jobs submitted afterwards, ${again.length} completed`,
  );
}

const tests = (other: string) => {
  for (const [way, of] of Object.entries(WAYS)) {
    test(
      `${way} by the documented way loses nothing but what it says`,
      () => documentedWay(way, of(other)),
      TEST_MS,
    );
    test(
      `${way} without that goes on with what ran, or fails it with its reason, and nothing else`,
      () => withoutDrain(way, of(other)),
      TEST_MS,
    );
  }
};
if (OTHER !== undefined) tests(OTHER);

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { PROGRAM, startProgram } from "#test/support/rigs/program.ts";
import { askUntil, createPullRig, type RigWorker } from "#test/support/rigs/pull-rig.ts";

setDefaultTimeout(180_000);

const rig = createPullRig();
afterEach(() => rig.close());
const { api } = rig;

const says = (worker: RigWorker, what: string) =>
  askUntil(`"${what}" in the log`, async () => worker.log.some((line) => line.includes(what)));
const joined = (worker: RigWorker) => says(worker, "joined the control plane");
const names = async (): Promise<string[]> => {
  const { body } = await api("GET", "/workers");
  return body.workers.map(({ id }: { id: string }) => id).sort();
};

test("a second live worker of one name is refused with what to do, and the first one's tasks are left alone", async () => {
  await rig.start();
  const opened = Promise.withResolvers<Response>();
  const gate = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => opened.promise });
  const argv = ["curl", "-s", `http://127.0.0.1:${gate.port}/`];
  await api("POST", "/workloads", {
    slug: "long",
    executor_type: "command",
    executor_config: { argv },
  });
  const first = await rig.worker();
  await joined(first);
  await api("POST", "/workloads/long/tasks", { pk: "a" });
  await askUntil("the task begins", async () => {
    const { body } = await api("GET", "/workloads/long/queue");
    return body.claimed === 1;
  });
  const clock = createFakeClock();
  const second = await rig.worker({ clock });
  await says(second, "duplicate worker_id: a live worker on");
  expect(second.log.join("\n")).toContain("set SVC_WORKER_ID (--worker-id) to another name");
  // Asked again, and again: it never takes the name of the living.
  for (let n = 0; n < 3; n += 1) {
    const before = second.log.length;
    await clock.sleeperIn(4_000);
    await clock.advance(4_000);
    await askUntil("another refusal", async () => second.log.length > before);
  }
  opened.resolve(new Response("{}"));
  const runs = await askUntil("the run", async () => {
    const { body } = await api("GET", "/workloads/long/runs");
    return body.runs.length > 0 && body.runs;
  });
  expect(runs).toMatchObject([{ pk: "a", attempt: 1, outcome: "success", worker_id: "p1" }]);
  expect(await names()).toEqual(["p1"]);
  // It says goodbye, and the name is free.
  await first.stop(1_000);
  await clock.sleeperIn(4_000).then(() => clock.advance(4_000));
  await joined(second);
  await gate.stop(true);
});

test("a name that nobody chose gets a free one beside it, and keeps it over restarts", async () => {
  await rig.start();
  const derived = { derived_id: true, worker_id: "w123" };
  const first = await rig.worker(derived);
  await joined(first);
  const second = await rig.worker(derived);
  await joined(second);
  const third = await rig.worker(derived);
  await joined(third);
  expect(await names()).toEqual(["w123", "w123-2", "w123-3"]);
  expect(second.log.join("\n")).toContain('"worker_id":"w123-2"');
  await third.stop(0);
  await second.stop(0);
  const again = await rig.worker({ ...derived, dir: third.dir });
  await joined(again);
  expect(again.log.join("\n")).toContain('"worker_id":"w123-3"');
});

test("a worker whose predecessor on its directory died without a word takes over at once", async () => {
  await rig.start();
  const dead = await rig.worker();
  await joined(dead);
  // Killed, it would say nothing either; its directory is held by one process at a time.
  const clock = createFakeClock();
  const next = await rig.worker({ dir: dead.dir, clock });
  await joined(next);
  expect(clock.now()).toBe(createFakeClock().now());
  expect(next.log.join("\n")).not.toContain("duplicate worker_id");
});

test("of two worker processes with one id the second takes over when the first is killed, and its task is done once more", async () => {
  const { url } = await rig.start();
  const blocked = Promise.withResolvers<Response>();
  let calls = 0;
  const gate = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: () => {
      calls += 1;
      return calls === 1 ? blocked.promise : new Response("{}");
    },
  });
  const argv = ["curl", "-s", `http://127.0.0.1:${gate.port}/`];
  const made = await api("POST", "/workloads", {
    slug: "long",
    executor_type: "command",
    executor_config: { argv },
    lease_secs: 30,
  });
  expect(made.status).toBe(201);
  const spawn = async () =>
    startProgram([...PROGRAM, "worker"], {
      env: {
        SVC_CONTROL_URL: url,
        SVC_WORKER_ID: "p1",
        SVC_SLOTS: "1",
        SVC_DATA_DIR: await rig.tempDir(),
      },
    });
  const first = await spawn();
  const programs = [first];
  try {
    await first.says("joined the control plane");
    await api("POST", "/workloads/long/tasks", { pk: "a" });
    await askUntil("the task begins", async () => calls === 1, 60_000);
    const second = await spawn();
    programs.push(second);
    await second.says("duplicate worker_id: a live worker on");
    expect(calls).toBe(1);
    first.kill("SIGKILL");
    await first.exited;
    await second.says("joined the control plane", 90_000);
    const runs = await askUntil(
      "the run of the second",
      async () => {
        const { body } = await api("GET", "/workloads/long/runs");
        return body.runs.some(({ outcome }: { outcome: string }) => outcome === "success") && body;
      },
      60_000,
    );
    const outcomes = runs.runs.map(({ attempt, outcome }: Run) => ({ attempt, outcome }));
    expect(outcomes).toContainEqual({ attempt: 2, outcome: "success" });
    expect(outcomes.filter(({ outcome }: Run) => outcome === "success")).toHaveLength(1);
    expect(calls).toBe(2);
    expect(await names()).toEqual(["p1"]);
  } finally {
    blocked.resolve(new Response("{}"));
    for (const program of programs) program.kill("SIGTERM");
    await Promise.all(programs.map((program) => program.exited));
    await gate.stop(true);
  }
}, 240_000);

interface Run {
  attempt: number;
  outcome: string;
}

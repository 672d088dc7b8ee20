import { afterAll, beforeAll, expect, test } from "bun:test";
import { createClient, FlotillaError } from "flotilla";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_API_TOKEN: "secret-token" } });
  worker = await hub.worker({ lanes: 2 });
});
afterAll(() => hub.close());

const client = () => createClient({ base_url: hub.url, token: "secret-token" });
const assigned = (job_id: string): Promise<HubAssignJob> =>
  worker.assigned.next((job) => job.job_id === job_id);

const failureOf = async (work: Promise<unknown>): Promise<FlotillaError> => {
  const err = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(err instanceof FlotillaError)) throw new Error(`not a FlotillaError: ${err}`);
  return err;
};

test("the client submits a job, follows it to its end and reads what it stored (rules/clients#events-of-the-client)", async () => {
  const { jobs } = client();
  const submitted = await jobs.submit({ url: TARGET, options: { idle_seconds: 1 } });
  expect(submitted).toMatchObject({ status: "running", url: TARGET });
  const job = await assigned(submitted.job_id);
  const stages: unknown[] = [];
  const ended = jobs.wait(job.job_id, {
    onEvent: ({ type, data }) => stages.push([type, data.stage]),
  });
  worker.log(job, "navigate", "on the way");
  await worker.putAsset(job, "0123456789");
  await worker.settle();
  worker.finish(job);
  expect(await ended).toMatchObject({ status: "completed", asset_count: 1 });
  expect(stages).toContainEqual(["log", "navigate"]);
  expect(stages.at(-1)).toEqual(["done", "done"]);
  const [asset] = await jobs.assets(job.job_id);
  expect(asset).toMatchObject({ name: "a.png", size: 10 });
  expect(await (await jobs.download(job.job_id, "a.png")).text()).toBe("0123456789");
  expect((await jobs.result(job.job_id)).assets).toHaveLength(1);
  expect((await jobs.list({ status: "completed", limit: 1 })).jobs[0]?.job_id).toBe(job.job_id);
  expect(await (await jobs.file(job.job_id, "log.txt")).text()).toContain("on the way");
  await jobs.delete(job.job_id);
  expect(await failureOf(jobs.get(job.job_id))).toMatchObject({
    status: 404,
    detail: "job not found",
  });
});

test("a submission at capacity is waited out without making a second job (rules/clients#waiting-out-capacity)", async () => {
  const { jobs } = client();
  const held = await Promise.all([jobs.submit({ url: TARGET }), jobs.submit({ url: TARGET })]);
  const url = `${TARGET}?queued`;
  const queued = await jobs.submit({ url }, { patience_ms: 0 });
  expect(queued).toMatchObject({ status: "queued", queue_position: 1 });
  await jobs.cancel(queued.job_id);
  const waiting = jobs.submit({ url: `${TARGET}?waited` });
  const stored = await hub.signals.next("job finished", { job_id: queued.job_id });
  expect(stored).toBeDefined();
  for (const { job_id } of held) worker.finish(await assigned(job_id));
  const ran = await waiting;
  expect(ran.status).toBe("running");
  expect((await jobs.list({ q: "waited" })).jobs).toHaveLength(1);
  worker.finish(await assigned(ran.job_id));
});

test("errors carry the status, the detail and the body of the answer (rules/clients#errors-of-the-client)", async () => {
  const { jobs, sessions, fleet } = client();
  const bad = await failureOf(jobs.submit({ url: "ftp://x/", options: { wait_seconds: -1 } }));
  expect(bad.status).toBe(422);
  expect(bad.message).toContain("options.wait_seconds");
  expect(bad.body).toHaveProperty("detail");
  expect((await failureOf(sessions.get("nope"))).status).toBe(404);
  expect((await failureOf(fleet.worker("w99"))).status).toBe(404);
  expect((await fleet.figures("6h")).bucket_s).toBe(900);
  const [worker] = await fleet.workers();
  const { worker_id, hostname, version } = worker as NonNullable<typeof worker>;
  expect(await fleet.worker(worker_id)).toMatchObject({ worker_id, hostname, version });
  const stranger = createClient({ base_url: hub.url });
  expect((await failureOf(stranger.jobs.list())).status).toBe(401);
  const nobody = createClient({ base_url: "http://127.0.0.1:9", timeout_ms: 60_000 });
  expect((await failureOf(nobody.fleet.health())).status).toBe(0);
  expect(() => createClient({ base_url: "ftp://hub" })).toThrow(TypeError);
});

test("the events of an unknown job are 404; an abort ends a stream and a wait (rules/clients#events-of-the-client)", async () => {
  const { jobs } = client();
  const all = async (job_id: string, signal?: AbortSignal) => {
    const seen = [];
    for await (const event of jobs.events(job_id, { signal })) seen.push(event.seq);
    return seen;
  };
  expect((await failureOf(all("nope"))).status).toBe(404);
  const running = await jobs.submit({ url: TARGET });
  const job = await assigned(running.job_id);
  const stop = new AbortController();
  const stream = all(job.job_id, stop.signal);
  const wait = failureOf(jobs.wait(job.job_id, { signal: stop.signal }));
  stop.abort(new Error("enough"));
  expect(await stream).toBeArray();
  expect((await wait).message).toContain("aborted");
  const late = await failureOf(jobs.wait(job.job_id, { timeout_ms: 20 }));
  expect(late.message).toContain("did not end within 20 ms");
  worker.finish(job);
  const events = await all(job.job_id);
  expect(events).toEqual(events.map((_, i) => i + 1));
});

test("a call takes a deadline and a signal", async () => {
  const mute = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  try {
    const slow = createClient({ base_url: `http://127.0.0.1:${mute.port}` });
    const late = await failureOf(slow.fleet.health({ timeout_ms: 30 }));
    expect(late.message).toContain("no answer within 30 ms");
    const gone = AbortSignal.abort(new Error("changed my mind"));
    expect((await failureOf(slow.fleet.health({ signal: gone }))).message).toContain(
      "changed my mind",
    );
  } finally {
    mute.stop(true);
  }
});

test("the client loads neither zod nor anything of the hub", async () => {
  const built = await Bun.build({ entrypoints: ["shared/client/index.ts"], target: "bun" });
  const text = (await built.outputs[0]?.text()) ?? "";
  expect(text).not.toContain("zod");
  expect(text).toContain("createClient");
  expect(text.length).toBeLessThan(40_000);
});

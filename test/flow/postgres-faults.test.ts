import { afterAll, beforeAll, expect, test } from "bun:test";
import { callsOf, type SampleCall } from "#test/support/clients/sample-calls.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { askUntil } from "#test/support/rigs/pull-rig.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** A hub, with its control plane, whose Postgres is killed under it and comes back. */

let server: TestPostgres;
let hub: TestHub;
const PASSWORD = "correct horse battery";
beforeAll(async () => {
  server = await startPostgres();
  hub = await startTestHub({
    env: {
      SVC_DB_URL: await server.createDatabase(),
      SVC_ADMIN_PASSWORD: PASSWORD,
      SVC_DEPLOY_ARGV: "true",
    },
  });
}, 180_000);
afterAll(async () => {
  await hub?.close();
  await server?.stop();
}, 180_000);

const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;

/**
 * What asks the database nothing, does without it (metrics, search), or has just asked it (figures): pages, the guide and schemas,
 * the plugins' folder, sockets, what a live session answers, links of such, and what is refused before. Everything else must say 503.
 */
const WITHOUT_DATABASE =
  /^(get \/($|archive\.wacz$|cdp($|\/json)|figures$|live$|metrics$|pressure$|search\?|status$|guide|llms\.txt$)|\w+ \/session\/|get \/profiles\/extension|get \/api\/v1\/(status|search\?|schedules\/preview|minio|updates|plugins\/(available|[^/]+\/(web|archive)))|\w+ \/sessions\/|get \/sessions$|(post|delete) \/mcp$|post \/links$|get \/links\/|get \/(workers|jobs)\/[^/]+\/(link|events)$|\w+ \/workers\/[^/]+\/(jobs|sessions|profiles|replays)\/)/;

async function ask({ method, path, body, type }: SampleCall) {
  const headers = {
    ...(type && { "content-type": type }),
    authorization: `Basic ${btoa(`admin:${PASSWORD}`)}`,
  };
  return hub.call(method, path, body, { headers, signal: AbortSignal.timeout(60_000) });
}

test("every route that needs the database answers 503 with Retry-After while it is away, none 500; then all work again", async () => {
  const document = (await hub.call("GET", "/openapi.json")).body;
  const calls = callsOf(document);
  expect(calls.length).toBeGreaterThan(130);
  const before: [SampleCall, number][] = [];
  // GET /<address> submits a job.
  for (const call of calls)
    if (call.method === "GET" && !call.path.startsWith("/http"))
      before.push([call, (await ask(call)).status]);
  await server.kill();
  const wrong: string[] = [];
  let unavailable = 0;
  for (const call of calls) {
    const { status, headers, body } = await ask(call);
    const name = `${call.method.toLowerCase()} ${call.path}`;
    if (status === 503 && headers.get("retry-after") !== null) unavailable += 1;
    else if (status >= 500 || !WITHOUT_DATABASE.test(name))
      wrong.push(`${name}: ${status} ${JSON.stringify(body)?.slice(0, 100)}`);
  }
  expect(wrong).toEqual([]);
  expect(unavailable).toBeGreaterThan(80);
  await server.restart();
  for (const [call, status] of before)
    await askUntil(call.path, async () => (await ask(call)).status === status);
}, 300_000);

test("a job whose worker reports while the database is away ends right when it is back, as reported; its lane goes on (rules/jobs#results-while-the-database-is-away)", async () => {
  const worker = await hub.worker({ worker_id: "w1", lanes: 2 });
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const assigned = await worker.assigned.next();
  const { session_id } = (await hub.call("POST", "/sessions", { url: TARGET })).body;
  await server.kill();
  worker.log(assigned, "navigate", "nobody keeps this");
  worker.finish(assigned, { title: "Reported" });
  await hub.signals.next("lane freed");
  const answer = await hub.call("POST", "/jobs", { url: TARGET });
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
  // The link lives, and sessions do.
  const click = { selector: "h1" };
  expect((await hub.call("POST", `/sessions/${session_id}/click`, click)).status).toBe(200);
  await worker.settle();
  await server.restart();
  const ended = await askUntil("the end of the job", async () => {
    const { status, body } = await hub.call("GET", `/jobs/${job_id}`);
    return status === 200 && body.status !== "running" && body;
  });
  expect(ended).toMatchObject({ status: "completed", title: "Reported", error: null });
  const next = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  expect((await job(next.job_id)).status).toBe("running");
  worker.finish(await worker.assigned.next());
  await hub.signals.next("job finished", { job_id: next.job_id });
  await worker.close();
  await hub.signals.next("link closed");
}, 180_000);

test("the pipeline: a claim that waits, a report and a heartbeat fail with 503 and hold again afterwards; nothing is lost", async () => {
  const api = (method: string, path: string, body?: unknown) =>
    hub.call(method, `/api/v1${path}`, body);
  const incarnation = "incarnation-1";
  await api("POST", "/workloads", {
    slug: "w",
    executor_type: "command",
    executor_config: { argv: ["true"] },
  });
  await api("POST", "/workers/p1/register", { incarnation, host: "h", slots: 4, version: "1" });
  const submit = (pk: string) => api("POST", "/workloads/w/tasks", { pk });
  await submit("one");
  const claim = () => api("POST", "/workers/p1/claim", { incarnation, slots: 1, wait_ms: 0 });
  const [{ tasks }] = (await claim()).body.batches;
  await server.kill();
  const items = tasks.map(({ task_id, epoch }: { task_id: number; epoch: number }) => ({
    task_id,
    epoch,
    stdout: "",
    stderr: "",
    duration_ms: 1,
  }));
  const report = () => api("POST", "/workers/p1/complete", { incarnation, items });
  const beat = () => api("POST", "/workers/p1/heartbeat", { incarnation, in_flight: [] });
  for (const call of [report, beat, claim, () => submit("two")]) {
    const { status, headers } = await call();
    expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
  }
  await server.restart();
  const done = await askUntil("the report", async () => {
    const { status, body } = await report();
    return status === 200 && body;
  });
  expect(done.items).toMatchObject([{ status: "ok" }]);
  expect((await submit("two")).status).toBe(201);
  expect((await claim()).body.batches[0].tasks[0].pk).toBe("two");
  expect((await api("GET", "/workloads/w/queue")).body).toMatchObject({ pending: 0, claimed: 1 });
}, 180_000);

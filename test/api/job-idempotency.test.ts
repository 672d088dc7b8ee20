import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueAt } from "#test/support/clients/api.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0.01" } });
});
afterAll(() => hub.close());

test("Idempotency-Key: the same key and body is one job and one answer, also at the same time", async () => {
  const post = (key: string, url = TARGET) =>
    hub.call("POST", "/jobs", { url }, { headers: { "idempotency-key": key } });
  const answers = await Promise.all([post("same"), post("same"), post("same")]);
  expect(new Set(answers.map((a) => a.body.job_id)).size).toBe(1);
  expect(answers.map((a) => a.status)).toEqual([503, 503, 503]);
  const again = await post("same");
  expect(again).toMatchObject({ status: 503, body: answers[0]?.body });
  expect(again.headers.get("retry-after")).toBe("10");
  expect((await hub.call("GET", `/jobs/${again.body.job_id}`)).body.idempotency_key).toBe("same");
  const other = await post("same", "http://other.test/");
  expect(other.status).toBe(409);
  expect((await post("bad key")).body).toMatchObject(issueAt("header", "Idempotency-Key"));
});

test("Idempotency-Key: a call that was refused stores nothing, so the key is free again", async () => {
  const headers = { "idempotency-key": "after-422" };
  expect((await hub.call("POST", "/jobs", { url: "ftp://x/" }, { headers })).status).toBe(422);
  expect((await hub.call("POST", "/jobs", { url: TARGET }, { headers })).status).toBe(503);
});

test("Idempotency-Key: a retry after 503 answers the job that got a lane since", async () => {
  const own = await startTestHub();
  try {
    const headers = { "idempotency-key": "retry" };
    const first = await own.call("POST", "/jobs", { url: TARGET }, { headers });
    const worker = await own.worker();
    await worker.assigned.next();
    await own.signals.next("job assigned", { job_id: first.body.job_id });
    const retry = await own.call("POST", "/jobs", { url: TARGET }, { headers });
    expect(retry).toMatchObject({
      status: 200,
      body: { job_id: first.body.job_id, status: "running" },
    });
    expect(worker.assigned.all.length).toBe(1);
  } finally {
    await own.close();
  }
});

test("Idempotency-Key: a second DELETE with the key answers 204 again", async () => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const headers = { "idempotency-key": "delete-once" };
  for (let i = 0; i < 2; i += 1)
    expect((await hub.call("DELETE", `/jobs/${job_id}`, undefined, { headers })).status).toBe(204);
  expect((await hub.call("DELETE", `/jobs/${job_id}`)).status).toBe(404);
});

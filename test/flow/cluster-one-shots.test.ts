import { expect, setDefaultTimeout, test } from "bun:test";
import type { FakeWorker, FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { TARGET } from "#test/support/rigs/hub.ts";
import { shareTwoHubs } from "#test/support/rigs/two-hubs.ts";

/** One-shot calls at a hub without a lane are answered by the one that has one (rules/one-shot-calls#no-lane). */

setDefaultTimeout(180_000);
const rig = shareTwoHubs();

const start = (on_call: FakeWorkerOptions["on_call"]): Promise<FakeWorker> =>
  rig.workerAt(rig.owner, {
    capabilities: { one_shot: true } as never,
    ...(on_call && { on_call }),
  });
const post = (path: string, init?: RequestInit) =>
  rig.asked.call("POST", path, { url: TARGET, viewport: { width: 800, height: 600 } }, init);

test("the hub with the lane answers, with its headers, whether it is named or found", async () => {
  const result = { mime: "text/html; charset=utf-8", status: 201, size: 5, text: "<p>hi" };
  const there = await start(() => ({ result }));
  const found = await post("/content?timeout=9000");
  expect({ status: found.status, text: found.text }).toEqual({ status: 200, text: "<p>hi" });
  expect(found.headers.get("x-response-code")).toBe("201");
  expect(found.headers.get("content-security-policy")).toBe("sandbox");
  expect(await there.opening.next()).toMatchObject({ viewport: { width: 800, height: 600 } });
  expect(await there.calls.next()).toMatchObject({ action: "one_shot", timeout_ms: 9_000 });
  await there.closing.next();
  await there.settle();
  const named = await rig.asked.call("POST", "/content", {
    url: TARGET,
    worker_id: there.worker_id,
  });
  expect({ status: named.status, text: named.text }).toEqual({ status: 200, text: "<p>hi" });
});

test("a large answer comes through both hubs whole", async () => {
  const size = 3_000_000;
  rig.bridge.blobs.set("b1", "x".repeat(size));
  const there = await start(() => ({
    result: { mime: "application/pdf", status: 200, size, blob: "b1" },
  }));
  const answer = await post("/pdf");
  expect({ status: answer.status, length: answer.text.length }).toEqual({
    status: 200,
    length: size,
  });
  expect((await there.closing.next()).reason).toBe("its answer was taken");
});

test("a caller that leaves ends the browser at the other hub (rules/one-shot-calls#end-of-a-call)", async () => {
  const there = await start(() => null);
  const leaving = new AbortController();
  const answer = post("/content", { signal: leaving.signal }).catch(() => null);
  const { session_id } = await there.calls.next();
  leaving.abort();
  expect(await there.closing.next()).toMatchObject({ session_id, reason: "its caller has gone" });
  await answer;
});

test("one that is a job too is answered where the job's browser is (rules/one-shot-calls#as-a-job)", async () => {
  const result = { mime: "text/html; charset=utf-8", status: 200, size: 5, text: "<p>hi" };
  const there = await start(() => ({ result }));
  const answer = rig.asked.call("POST", "/content", { url: TARGET, as_job: true });
  const job = await there.assigned.next();
  there.result(job);
  expect(await there.calls.next()).toMatchObject({
    session_id: job.session_id,
    args: { is_open: { status: 200 } },
  });
  const { status, text, headers } = await answer;
  expect({ status, text, job_id: headers.get("flotilla-job") }).toEqual({
    status: 200,
    text: "<p>hi",
    job_id: job.job_id,
  });
  expect((await there.closing.next()).reason).toBe("it was answered");
  // Only another hub names the job of a call.
  const forged = await rig.asked.call("POST", `/content?of_job=${job.job_id}`, { url: TARGET });
  expect(forged.status).toBe(422);
});

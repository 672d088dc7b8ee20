import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestHub } from "#test/support/rigs/hub.ts";

/** POST /jobs without the wait of rules/jobs#wait-for-a-lane, for who submits many. */

let hub: Awaited<ReturnType<typeof startTestHub>>;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

test("a job with Prefer: respond-async is answered immediately, queued, if no lane is free (rules/jobs#wait-for-a-lane)", async () => {
  const headers = { prefer: "wait=1, respond-async" };
  const answer = await hub.call("POST", "/jobs", { url: "https://example.com/" }, { headers });
  expect(answer).toMatchObject({ status: 200, body: { status: "queued", queue_position: 1 } });
});

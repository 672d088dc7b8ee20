import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
  await hub.worker();
});
afterAll(() => hub.close());

scenarios("POST /workers/w11/status (rules/workers#status-of-a-worker)", () => hub, [
  {
    name: "200 with the worker as it is now",
    send: { status: "standby" },
    status: 200,
    body: { worker_id: "w11", status: "standby" },
  },
  {
    name: "400 when status is missing",
    send: {},
    status: 400,
    body: { detail: "body.status is required" },
  },
  {
    name: "422 for an unknown status",
    send: { status: "asleep" },
    status: 422,
    body: issueAt("body", "status"),
  },
  {
    name: "415 when the content type is not JSON",
    send: "{}",
    headers: { "content-type": "text/plain" },
    status: 415,
    body: { detail: "content-type must be application/json" },
  },
  {
    name: "404 for a worker nobody knows",
    path: "/workers/w12/status",
    send: { status: "active" },
    status: 404,
    body: { detail: "worker not found" },
  },
]);

test("GET /workers/{id} is what the list says of it, connected or remembered; 404 for others", async () => {
  const { workers } = (await hub.call("GET", "/workers")).body;
  const one = await hub.call("GET", "/workers/w11");
  expect(one).toMatchObject({ status: 200, body: { worker_id: "w11", alive: true } });
  expect(workers).toContainEqual(one.body);
  const gone = await hub.worker({ worker_id: "w21" });
  await gone.close();
  await hub.signals.next("link closed", { worker_id: "w21" });
  expect(await hub.call("GET", "/workers/w21")).toMatchObject({
    status: 200,
    body: { worker_id: "w21", alive: false, lanes: [] },
  });
  for (const id of ["w99", "no%20worker"])
    expect(await hub.call("GET", `/workers/${id}`)).toMatchObject({
      status: 404,
      body: { detail: "worker not found" },
    });
});

test("WS /workers/{worker_id}/link: 426 without an upgrade (rules/worker-link#link)", async () => {
  const answer = await hub.call("GET", "/workers/w11/link");
  expect(answer.status).toBe(426);
  expect(answer.headers.get("upgrade")).toBe("websocket");
});

test("WS /workers/{worker_id}/link: an id that no worker can have closes with 4404 (rules/worker-link#link)", async () => {
  const socket = new WebSocket(`${hub.url.replace("http", "ws")}/workers/no%20worker/link`);
  const closed = new Promise<CloseEvent>((resolve) => {
    socket.onclose = resolve;
  });
  expect(await closed).toMatchObject({ code: 4404, reason: "worker not found" });
});

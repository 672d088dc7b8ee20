import { afterAll, beforeEach, expect, test } from "bun:test";
import { fetchHeard, offlineSince } from "#hub/ui/client/lib/connection.ts";
import { createHttp } from "#shared/client/http.ts";

/** Whether the server is away, as the page knows it (rules/web-app#away). */

let asked = Promise.withResolvers<void>();
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: ({ url }) => {
    if (!url.endsWith("/jobs/slow")) return Response.json({});
    asked.resolve();
    return new Promise<Response>(() => {});
  },
});
afterAll(() => server.stop(true));

/** Calls are late when the test says so. */
let late = Promise.withResolvers<void>();
const http = createHttp({
  base_url: server.url.origin,
  fetch: fetchHeard,
  clock: { sleep: () => late.promise },
});
const answers = () => http.call("GET /jobs/{id}", { params: { id: "quick" } });
const hangs = (signal?: AbortSignal) =>
  http
    .call("GET /jobs/{id}", { params: { id: "slow" }, ...(signal && { signal }) })
    .catch((err) => err as Error);

beforeEach(async () => {
  asked = Promise.withResolvers();
  late = Promise.withResolvers();
  await answers();
  expect(offlineSince()).toBeNull();
});

test("a server that has not answered by the deadline is away since it was asked, and is back with its next answer", async () => {
  const before = Date.now();
  const call = hangs();
  await asked.promise;
  expect(offlineSince()).toBeNull();
  late.resolve();
  expect(String(await call)).toContain("no answer within");
  expect(offlineSince()).toBeGreaterThanOrEqual(before);
  late = Promise.withResolvers();
  await answers();
  expect(offlineSince()).toBeNull();
});

test("one call that is late says nothing of a server that answered another meanwhile", async () => {
  const call = hangs();
  await asked.promise;
  await answers();
  late.resolve();
  await call;
  expect(offlineSince()).toBeNull();
});

test("a call that the page gave up says nothing", async () => {
  const given_up = new AbortController();
  const call = hangs(given_up.signal);
  await asked.promise;
  given_up.abort();
  await call;
  expect(offlineSince()).toBeNull();
});

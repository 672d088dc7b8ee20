import { expect, test } from "bun:test";
import { newApp } from "#hub/platform/http/new-app.ts";
import { addressOf } from "#hub/platform/http/require-admin.ts";
import { ownHttp } from "#hub/program/mcp/own-http.ts";

/** Calls of a hub's own routes: as its caller, and given up like any other (rules/mcp#over-http). */

const CALLER = {
  authorization: "Bearer t",
  "x-admin-password": "p",
  cookie: "a=b",
  "x-forwarded-proto": "https",
  "flotilla-relay": "hub2",
  origin: "http://page.test",
  host: "hub.lan:8000",
};

function startApp() {
  const hanging = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const app = newApp();
  app.post("/seen", async (c) =>
    c.json({
      headers: Object.fromEntries(c.req.raw.headers),
      address: addressOf(c),
      url: c.req.url,
      body: await c.req.json(),
    }),
  );
  app.get("/hangs", async (c) => {
    hanging.resolve();
    await new Promise(() => {});
    return c.body(null);
  });
  app.get("/stalls", (c) =>
    c.body(
      new ReadableStream({
        pull: (stream) => {
          stream.enqueue(new TextEncoder().encode("{"));
          hanging.resolve();
          return new Promise(() => {});
        },
        cancel: () => cancelled.resolve(),
      }),
    ),
  );
  return { app, hanging: hanging.promise, cancelled: cancelled.promise };
}

async function httpOf(app: ReturnType<typeof newApp>) {
  let own: ReturnType<typeof ownHttp> | undefined;
  const first = newApp();
  first.get("/mcp", (c) => {
    own = ownHttp(c, app);
    return c.body(null);
  });
  const server = { requestIP: () => ({ address: "10.0.0.7", family: "IPv4", port: 1 }) };
  await first.fetch(new Request("http://10.0.0.1/mcp", { headers: CALLER }), {
    server: server as never,
  });
  if (own === undefined) throw new Error("the route was not called");
  return own;
}

test("a call has what its caller is known by, and nothing that says that another hub or a page sent it", async () => {
  const http = await httpOf(startApp().app);
  expect(http.base_url).toBe("https://hub.lan:8000");
  const seen = await http.call("POST /seen" as never, { json: { n: 1 } } as never);
  expect(seen).toEqual({
    headers: {
      authorization: "Bearer t",
      "x-admin-password": "p",
      cookie: "a=b",
      "x-forwarded-proto": "https",
      "content-type": "application/json",
      "content-length": "7",
    },
    address: "10.0.0.7",
    url: "https://hub.lan:8000/seen",
    body: { n: 1 },
  } as never);
});

test("a call that nobody waits for is given up, before its answer and within it", async () => {
  const { app, hanging } = startApp();
  const http = await httpOf(app);
  const over = new AbortController();
  const call = { signal: over.signal } as never;
  const waiting = http.call("GET /hangs" as never, call);
  await hanging;
  over.abort(new Error("enough"));
  expect(waiting).rejects.toThrow("enough");
  expect(http.call("GET /hangs" as never, { timeout_ms: 1 } as never)).rejects.toThrow("1 ms");

  const stalled = startApp();
  const again = new AbortController();
  const of_stalled = await httpOf(stalled.app);
  const response = await of_stalled.open("GET /stalls" as never, { signal: again.signal } as never);
  const reading = response.text();
  await stalled.hanging;
  again.abort(new Error("enough"));
  expect(reading).rejects.toThrow();
  await stalled.cancelled;
});

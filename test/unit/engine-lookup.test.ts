import { afterAll, beforeEach, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createEngines, type EngineUnknown } from "#worker/browser/llm/engines.ts";

/** What the hub is asked, and what it says next. */
const asked: string[] = [];
let next: () => Response;
const hub = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: ({ method, url, headers }) => {
    const { pathname, search } = new URL(url);
    asked.push(`${method} ${pathname}${search} ${headers.get("x-worker-secret")}`);
    return next();
  },
});
afterAll(() => hub.stop(true));
beforeEach(() => asked.splice(0));

const ENGINE = {
  slug: "main",
  url: "http://127.0.0.1:1/v1",
  model: "m",
  timeout_s: 1,
  headers: { authorization: "Bearer key" },
};
const engines = () => createEngines({ clock: createFakeClock(), secret: "secret" });
const resolve = (slug = "main") =>
  engines()
    .resolve(`http://127.0.0.1:${hub.port}`, slug, "ask", new AbortController().signal)
    .catch((err: EngineUnknown) => `${err.kind}: ${err.message}`);

test("an engine is asked for with the worker's secret, and once within a few seconds", async () => {
  next = () => Response.json(ENGINE);
  const known = engines();
  const { signal } = new AbortController();
  for (const _ of [1, 2]) {
    const base_url = `http://127.0.0.1:${hub.port}`;
    expect(await known.resolve(base_url, "a/b", "agent", signal)).toMatchObject({ model: "m" });
  }
  expect(asked).toEqual(["GET /engines/a%2Fb/resolve?purpose=agent secret"]);
});

test("what the hub does not know is the caller's mistake, everything else is not (rules/engines#resolve-an-engine)", async () => {
  next = () => Response.json({ detail: "there is no engine main" }, { status: 404 });
  expect(await resolve()).toBe("invalid: engine main was not resolved: there is no engine main");
  next = () => Response.json({ detail: "wrong secret" }, { status: 401 });
  expect(await resolve()).toBe("broken: engine main was not resolved: wrong secret");
  next = () => new Response("<h1>no such page</h1>", { status: 404 });
  expect(await resolve()).toStartWith("broken: engine main was not resolved: ");
  next = () => Response.json({ model: 1 });
  expect(await resolve()).toBe("broken: engine main was not resolved: the hub sent no engine");
});

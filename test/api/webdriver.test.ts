import { afterEach, beforeEach, expect, test } from "bun:test";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { sessionWorkerOf } from "#test/support/rigs/session-hub.ts";

/** `POST /session` and its commands at a worker whose chromedriver is the test (rules/webdriver). */

const TOKEN = "a-token-of-the-installation";
const BROWSER = { browserName: "chrome", browserVersion: "156", platformName: "" };

let hub: TestHub;
let bridge: FakeBridge;
beforeEach(() => {
  bridge = startFakeBridge();
  bridge.webdriver.set("POST ", () => Response.json({ value: { capabilities: BROWSER } }));
});
afterEach(async () => {
  await hub?.close();
  await bridge.stop();
});

async function start(of_hub?: TestHubOptions, capabilities: object = { webdriver: true }) {
  hub = await startTestHub(of_hub);
  return sessionWorkerOf(hub, bridge, { capabilities: capabilities as never });
}
const open = (capabilities: object = {}, path = "/session", init?: RequestInit) =>
  hub.call("POST", path, { capabilities }, init);
const options = (more: object) => ({ alwaysMatch: { "flotilla:options": more } });
const basic = (text: string): RequestInit => ({
  headers: { authorization: `Basic ${Buffer.from(text).toString("base64")}` },
});

test("a session is opened as POST /sessions opens one, and the answer leads to it (rules/webdriver#capabilities)", async () => {
  const worker = await start();
  const asked = options({ record: "off", headless: true, ttl_s: 600 });
  const { status, body } = await open(asked, "/wd/hub/session");
  expect(status).toBe(200);
  expect(await worker.opening.next()).toMatchObject({ record: "off", headless: true });
  const { sessionId, capabilities } = body.value;
  const [session] = (await hub.call("GET", "/sessions")).body.sessions;
  expect(session).toMatchObject({ session_id: sessionId, headless: true });
  const ws = hub.url.replace("http", "ws");
  expect(capabilities).toMatchObject({
    browserName: "chrome",
    platformName: "linux",
    "se:cdp": `${ws}/sessions/${sessionId}/cdp`,
    "flotilla:session": sessionId,
  });
});

test("commands go to the worker of the session, and end with it (rules/webdriver#commands)", async () => {
  const worker: FakeWorker = await start();
  const { sessionId } = (await open()).body.value;
  bridge.webdriver.set("GET /title", () => Response.json({ value: "A title" }));
  bridge.webdriver.set("POST /url", (sent) => Response.json({ value: JSON.parse(sent) }));
  expect((await hub.call("GET", `/session/${sessionId}/title`)).body).toEqual({ value: "A title" });
  const url = { url: "http://a.test/" };
  const answer = await hub.call("POST", `/wd/hub/session/${sessionId}/url`, url);
  expect(answer.body).toEqual({ value: url });
  expect((await hub.call("DELETE", `/session/${sessionId}`)).body).toEqual({ value: null });
  expect(await worker.closing.next()).toMatchObject({ reason: "its WebDriver client quit" });
  expect(await hub.call("GET", `/session/${sessionId}/title`)).toMatchObject({
    status: 404,
    body: { value: { error: "invalid session id", stacktrace: "" } },
  });
});

test("what chromedriver says goes to the client, and a worker that breaks off is said so (rules/webdriver#errors)", async () => {
  await start();
  const { sessionId } = (await open()).body.value;
  const at = `/session/${sessionId}`;
  const said = { value: { error: "no such element", message: "none", stacktrace: "" } };
  bridge.webdriver.set("POST /element", () => Response.json(said, { status: 404 }));
  expect(await hub.call("POST", `${at}/element`, {})).toMatchObject({ status: 404, body: said });
  bridge.webdriver.set("GET /title", async () => {
    await bridge.stop();
    return Response.json({});
  });
  expect((await hub.call("GET", `${at}/title`)).body.value).toMatchObject({
    error: "unknown error",
    message: expect.stringContaining("cannot be reached"),
  });
});

test("a session whose chromedriver does not begin is ended, and nobody has it (rules/webdriver#errors)", async () => {
  const worker = await start();
  const value = { error: "session not created", message: "only supports Chrome version 1" };
  bridge.webdriver.set("POST ", () => Response.json({ value }, { status: 500 }));
  expect(await open()).toMatchObject({ status: 500, body: { value } });
  expect(await worker.closing.next()).toMatchObject({
    reason: "WebDriver did not begin: only supports Chrome version 1",
  });
  expect((await hub.call("GET", "/sessions")).body.sessions).toEqual([]);
});

test("no session is created without a lane, a chromedriver or a valid option, and the reason is told (rules/webdriver#errors)", async () => {
  hub = await startTestHub();
  const not_created = (message: string) => ({
    value: { error: "session not created", message: expect.stringContaining(message) },
  });
  const full = await open();
  expect(full).toMatchObject({ status: 503, body: not_created("fleet at capacity") });
  expect(full.headers.get("retry-after")).not.toBeNull();
  await sessionWorkerOf(hub, bridge, { capabilities: { webdriver: false } as never });
  expect((await open()).body).toMatchObject(not_created("install chromium-driver"));
  expect((await open(options({ ttl_s: 1 }))).body).toMatchObject(
    not_created("flotilla:options.ttl_s"),
  );
  expect((await open(options({ nonsense: 1 }))).body).toMatchObject(not_created("nonsense"));
});

test("what is no call of WebDriver is refused in its form (rules/webdriver#errors)", async () => {
  await start();
  const { sessionId } = (await open()).body.value;
  const at = `/session/${sessionId}`;
  const error = async (method: string, path: string, body?: unknown) =>
    (await hub.call(method, path, body)).body.value.error;
  expect(await error("GET", "/session")).toBe("unknown method");
  expect(await error("GET", `${at}/nothing`)).toBe("unknown command");
  expect(await error("DELETE", `${at}/title`)).toBe("unknown method");
  expect(await error("POST", `${at}/chromium/launch_app`, {})).toBe("unsupported operation");
  expect(await error("POST", "/session/unknown/url", {})).toBe("invalid session id");
  const broken = await fetch(`${hub.url}/session`, { method: "POST", body: "{" });
  expect(await broken.json()).toMatchObject({ value: { error: "invalid argument" } });
  expect(broken.status).toBe(400);
  expect(bridge.requests.filter(({ path }) => path.includes("webdriver/"))).toEqual([]);
});

test("a token is the header's, or the password or the user of the address; the role is operator (rules/webdriver#tokens)", async () => {
  await start({ env: { SVC_API_TOKEN: TOKEN } });
  const bearer = { headers: { authorization: `Bearer ${TOKEN}` } };
  const made = await hub.call("POST", "/tokens", { name: "looks", role: "viewer" }, bearer);
  const looks: string = made.body.token;
  for (const init of [undefined, basic("any:wrong"), basic("admin:wrong"), basic(":")]) {
    const refused = await open({}, "/session", init);
    expect(refused).toMatchObject({
      status: 401,
      body: { value: { error: "session not created" } },
    });
  }
  expect(await open({}, "/session", basic(`any:${looks}`))).toMatchObject({
    status: 403,
    body: { value: { message: expect.stringContaining("operator") } },
  });
  // Elsewhere a password is the administrator's alone.
  expect(await hub.call("GET", "/sessions", undefined, basic(`any:${TOKEN}`))).toMatchObject({
    status: 401,
  });
  const { value } = (await open({}, "/session", basic(`any:${TOKEN}`))).body;
  expect(value.capabilities["se:cdp"]).toMatch(/^ws:.*\/links\/[^/]+\/cdp$/);
  bridge.webdriver.set("GET /title", () => Response.json({ value: "A title" }));
  const at = `/session/${value.sessionId}/title`;
  for (const init of [basic(`any:${TOKEN}`), basic(`${TOKEN}:`), bearer])
    expect((await hub.call("GET", at, undefined, init)).body).toEqual({ value: "A title" });
  expect((await hub.call("GET", at)).body.value.error).toBe("unknown error");
});

test("anybody may ask whether a session can be opened (rules/webdriver#addresses)", async () => {
  hub = await startTestHub({ env: { SVC_API_TOKEN: TOKEN } });
  const ready = async (path: string) => (await hub.call("GET", path)).body.value;
  expect(await ready("/wd/hub/status")).toMatchObject({
    ready: false,
    message: "no worker is there",
  });
  await sessionWorkerOf(hub, bridge, { capabilities: { webdriver: true } as never });
  expect(await ready("/status")).toMatchObject({ ready: true });
});

test("who opened and ended a session is recorded, and no single command (rules/webdriver#tokens)", async () => {
  await start();
  const { sessionId } = (await open()).body.value;
  bridge.webdriver.set("POST /refresh", () => Response.json({ value: null }));
  await hub.call("POST", `/session/${sessionId}/refresh`, {});
  await hub.call("DELETE", `/session/${sessionId}`);
  // They are written a moment later. Hubs without a secret both record a call that one passes to the other.
  const both = ["/session/:sid", "/session"];
  const entries = await until("both calls in the audit log", 60_000, async () => {
    const { body } = await hub.call("GET", "/audit");
    const routes: string[] = body.entries.map(({ route }: { route: string }) => route);
    return both.every((route) => routes.includes(route)) && body.entries;
  });
  for (const { route } of entries) expect(both).toContain(route);
  expect(JSON.stringify(entries)).not.toContain(sessionId);
});

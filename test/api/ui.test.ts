import { afterEach, expect, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** The admin UI at the hub's address (rules/web-app#where-it-is): what the server has to do with it. */

let hub: TestHub;
afterEach(() => hub.close());
const start = async (options: TestHubOptions = {}) => {
  hub = await startTestHub({ alone: true, ...options });
};
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(hub.url + path, { headers, redirect: "manual" });

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const policyOf = (response: Response) =>
  new Map(
    (response.headers.get("content-security-policy") ?? "").split("; ").map((part) => {
      const [name = "", ...values] = part.split(" ");
      return [name, values];
    }),
  );

test("/ is the app for browsers and an index for who asks for JSON (rules/web-app#where-it-is)", async () => {
  await start();
  const page = await get("/", HTML);
  expect(page.headers.get("content-type")).toBe("text/html; charset=UTF-8");
  expect(await page.text()).toContain('<script type="module" src="/ui/assets/main-');
  const index = await get("/", { accept: "application/json" });
  expect(await index.json()).toMatchObject({ name: "flotilla", links: { docs: "/docs" } });
});

test("every address below /ui/ is the app, so that links hold after a reload", async () => {
  await start();
  for (const path of ["/ui/captures", "/ui/captures/none?tab=log", "/ui/library/hosts/a%2Fb"])
    expect(await (await get(path)).text()).toContain("/ui/assets/main-");
  expect((await get("/ui")).headers.get("location")).toBe("/");
});

test("an address of before redirects to its page, with its query (rules/web-app#addresses-of-the-app)", async () => {
  await start();
  for (const [old, now] of [
    ["/ui/wall?worker=w1", "/ui/browsers?worker=w1"],
    ["/ui/jobs/x1?tab=recording&t=12.4", "/ui/captures/x1?tab=recording&t=12.4"],
    ["/ui/jobs/x1/diff/x2", "/ui/captures/x1/diff/x2"],
    ["/ui/sessions", "/ui/browsers/past"],
    ["/ui/sessions/s1", "/ui/browsers/s1"],
    ["/ui/hosts/a%2Fb", "/ui/library/hosts/a%2Fb"],
    ["/ui/workloads/a?run=7", "/ui/pipelines/a?run=7"],
    // Which is a page beside the workloads.
    ["/ui/workloads/flow", "/ui/pipelines/workloads/flow"],
    ["/ui/pull-workers?worker=w1", "/ui/system/workers?kind=pipeline&worker=w1"],
  ] as const) {
    const { status, headers } = await get(old);
    expect({ old, status, to: headers.get("location") }).toEqual({ old, status: 308, to: now });
  }
});

test("the app may load, frame and call nothing but its own origin, and its styles carry a nonce of one answer", async () => {
  await start();
  const [first, second] = [await get("/", HTML), await get("/", HTML)];
  const policy = policyOf(first);
  expect(policy.get("default-src")).toEqual(["'none'"]);
  for (const kind of ["script-src", "connect-src", "frame-src", "font-src"])
    expect({ kind, from: policy.get(kind) }).toEqual({ kind, from: ["'self'"] });
  expect(policy.get("base-uri")).toEqual(["'none'"]);
  const nonceOf = (response: Response) => policyOf(response).get("style-src")?.[1];
  expect(nonceOf(first)).toMatch(/^'nonce-[\w-]{32}'$/);
  expect(nonceOf(first)).not.toBe(nonceOf(second));
  expect(first.headers.get("cache-control")).toBe("no-store");
});

test("the first document has the colours that this browser chose, and no others (rules/web-app#places)", async () => {
  await start();
  const rootWith = async (cookie?: string) => {
    const response = await get("/ui/captures", cookie === undefined ? HTML : { ...HTML, cookie });
    return /<html [^>]*>/.exec(await response.text())?.[0];
  };
  const scheme = (colors: string) => `<html lang="en" data-mantine-color-scheme="${colors}">`;
  expect(await rootWith("flotilla-colors=dark")).toBe(scheme("dark"));
  expect(await rootWith("other=1; flotilla-colors=light")).toBe(scheme("light"));
  for (const none of [undefined, "flotilla-colors=auto", 'flotilla-colors="><script>'])
    expect({ none, root: await rootWith(none) }).toEqual({ none, root: '<html lang="en">' });
});

test("files of the app are cached forever under names with their hash, and packed", async () => {
  await start();
  const html = await (await get("/", HTML)).text();
  const names = [...html.matchAll(/"(\/ui\/assets\/[^"]+)"/g)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThanOrEqual(2);
  for (const name of names) {
    expect(name).toMatch(/-[a-z0-9]{8}\.(js|css|woff2)$/);
    const response = await get(name, { "accept-encoding": "gzip" });
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(response.headers.get("vary")).toContain("Accept-Encoding");
    const plain = await get(name, { "accept-encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(await (await get(name)).text());
  }

  expect((await get("/ui/assets/main-00000000.js")).status).toBe(404);
});

/** The events of /ui/changes as they come. */
async function listen(): Promise<{ next(): Promise<string[]>; stop(): void }> {
  const abort = new AbortController();
  const response = await fetch(`${hub.url}/ui/changes`, { signal: abort.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  const next = async (): Promise<string[]> => {
    for (;;) {
      const found = /event: changed\ndata: (.*)\n\n/.exec(text);
      if (found) {
        text = text.slice(found.index + found[0].length);
        return JSON.parse(found[1] ?? "").topics;
      }
      const { value, done } = await reader.read();
      if (done) return ["over"];
      text += new TextDecoder().decode(value);
    }
  };
  return { next, stop: () => abort.abort() };
}

test("the stream of changes names what a call changed, and nothing for one that failed", async () => {
  await start();
  // A new hub has said once which version the fleet is to have.
  await until("the first look at the fleet", 60_000, async () => {
    const { body } = await hub.call("GET", "/api/v1/updates");
    return body.target !== null;
  });
  const stream = await listen();
  expect((await hub.call("PUT", "/hosts/a.test", { nonsense: 1 })).status).toBe(422);
  await hub.call("PUT", "/hosts/a.test", { notes: "x" });
  expect(await stream.next()).toEqual(["hosts"]);
  await hub.worker();
  const job = await hub.call("POST", "/jobs", { url: TARGET });
  expect(job.status).toBe(200);
  const topics = new Set<string>();
  while (!topics.has("jobs") || !topics.has("workers"))
    for (const topic of await stream.next()) topics.add(topic);
  stream.stop();
});

test("the stream ends when the hub stops", async () => {
  await start();
  const stream = await listen();
  await hub.close();
  // What the new hub changed by itself may come first.
  let last = await stream.next();
  while (last[0] !== "over") last = await stream.next();
  expect(last).toEqual(["over"]);
});

test("with SVC_API_TOKEN a browser logs in once, and learns who it is", async () => {
  await start({ env: { SVC_API_TOKEN: "t0ken" } });
  const login = (token: unknown) => hub.call("POST", "/ui/login", { token });
  expect((await login("nope")).status).toBe(401);
  expect((await login("")).status).toBe(422);
  const { status, headers } = await login("t0ken");
  expect(status).toBe(204);
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
  expect((await get("/jobs")).status).toBe(401);
  expect((await get("/jobs", { cookie })).status).toBe(200);
  expect((await get("/jobs", { cookie: "flotilla_session=other" })).status).toBe(401);
  expect(await (await get("/ui/caller", { cookie })).json()).toEqual({
    kind: "session",
    name: null,
    role: null,
    open: false,
    workers_open: false,
  });
  const out = await hub.call("POST", "/ui/logout", undefined, { headers: { cookie } });
  expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
  expect((await get("/jobs", { cookie })).status).toBe(401);
});

test("the start says that no token is required, and warns where other machines reach the server", async () => {
  const toldAs = async (env: Record<string, string>) => {
    await start({ alone: true, env });
    const told = hub.log.filter(({ message }) =>
      String(message).startsWith("no token is required"),
    );
    await hub.close();
    return told.map(({ level }) => level);
  };
  expect(await toldAs({ SVC_HOST: "0.0.0.0" })).toEqual(["warn"]);
  expect(await toldAs({})).toEqual(["info"]);
  expect(await toldAs({ SVC_HOST: "0.0.0.0", SVC_API_TOKEN: "t0ken-of-the-test" })).toEqual([]);
});

test("without a token every browser learns that the server is open, if other machines reach it", async () => {
  const nobody = { kind: "open", name: null, role: null, workers_open: false };
  await start({ alone: true });
  expect(await (await get("/ui/caller")).json()).toEqual({ ...nobody, open: false });
  await hub.close();
  await start({ alone: true, env: { SVC_HOST: "0.0.0.0" } });
  expect(await (await get("/ui/caller")).json()).toEqual({ ...nobody, open: true });
});

test("an administrator's call of the app is refused without the browser's own password dialog", async () => {
  await start({ env: { SVC_ADMIN_PASSWORD: "correct horse battery" } });
  const put = (headers: Record<string, string>) =>
    hub.call("PUT", "/api/v1/settings/service_log_days", { value: 7 }, { headers });
  const plain = await put({});
  expect(plain.status).toBe(401);
  expect(plain.headers.get("www-authenticate")).toStartWith("Basic");
  for (const given of ["", "wrong"]) {
    const { status, headers } = await put({ "x-admin-password": given });
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe('X-Admin-Password realm="administrator"');
  }
});

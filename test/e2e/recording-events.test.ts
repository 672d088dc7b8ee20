import { afterAll, beforeAll, expect, test } from "bun:test";
import { Box, type TimedEvent } from "#shared/recording/events.ts";
import type { Recording } from "#shared/recording/record.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";

/** What happened in real lanes, with who did it and where (rules/recordings#the-events). */

const LONG_MS = 180_000;
/** Line 3 of the script logs, line 4 fails, line 5 asks for what nobody answers; the first is line 0. */
const SCRIPT = `addEventListener("click", () => {
  const place = "here";
  setTimeout(() => {
    console.warn("a warning");
    throw new Error("an error of the page");
  }); fetch("http://127.0.0.1:9/gone").catch(() => {});
});`;
const PAGE = `<!doctype html><title>events</title><link rel=icon href=data:,><script src=/page.js></script>
<button id=go>go</button><button id=ask onclick="event.stopPropagation(); confirm('sure?')">ask</button><img src=/missing.png>`;

/** One of its buttons is in a frame, where the page has another of that name, and one cannot be clicked. */
const FRAMED = `<!doctype html><title>framed</title><link rel=icon href=data:,><style>body { margin: 0 } #in { margin: 200px 0 0 300px; border: 0 }</style>
<button id=go style="position:absolute;left:9px;top:9px">go</button><button id=off style="position:absolute;left:20px;top:60px;width:90px" disabled>off</button>
<iframe id=in srcdoc="<style>body{margin:10px}</style><button id=go style='width:70px;height:30px'>go</button>"></iframe>`;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      const html = (status: number, page = PAGE) =>
        new Response(page, { status, headers: { "content-type": "text/html" } });
      if (pathname === "/") return html(200);
      if (pathname === "/framed") return html(200, FRAMED);
      if (pathname === "/quick") return Response.redirect(`${site.url}gone`);
      if (pathname !== "/page.js") return html(404);
      return new Response(SCRIPT, { headers: { "content-type": "text/javascript" } });
    },
  });
  fleet = await startFleet({ lanes: 1, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(LONG_MS);
}, LONG_MS);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
}, LONG_MS);

const json = async <T>(path: string, init?: RequestInit): Promise<T> =>
  (await (await fetch(fleet.url + path, init)).json()) as T;
const post = <T>(path: string, body: unknown = {}, method = "POST") =>
  json<T>(path, {
    method,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });

/** What a recording says once it is whole. */
async function eventsOf(path: string): Promise<TimedEvent[]> {
  await until(`the end of ${path}`, LONG_MS, async () => {
    const { state } = await json<Recording>(`${path}/recording`);
    return state === "whole";
  });
  return (await json<{ items: TimedEvent[] }>(`${path}/recording/events`)).items;
}
const ofType = <T extends TimedEvent["type"]>(events: TimedEvent[], type: T) =>
  events.filter((event): event is TimedEvent & { type: T } => event.type === type);

/** Comes and goes as a CDP client, and asks the browser for its version in between. */
async function visitAsClient(cdp_path: string): Promise<void> {
  const socket = new WebSocket(fleet.url.replace(/^http/, "ws") + cdp_path);
  const answered = new Promise((resolve, reject) => {
    socket.onmessage = resolve;
    socket.onerror = reject;
  });
  socket.onopen = () => socket.send(JSON.stringify({ id: 1, method: "Browser.getVersion" }));
  await answered;
  const closed = new Promise((resolve) => {
    socket.onclose = resolve;
  });
  socket.close();
  await closed;
}

test(
  "a session's recording says where each page's answer, message and failure came from, and who did what",
  async () => {
    const { session_id, cdp_url } = await post<{ session_id: string; cdp_url: string }>(
      "/sessions",
      { url: site.url.href },
    );
    const path = `/sessions/${session_id}`;
    await post(`${path}/click`, { selector: "#go" });
    await post(`${path}/click`, { selector: "#ask" });
    await post(`${path}/dialog`, { op: "accept" });
    await visitAsClient(cdp_url);
    await post(`${path}/navigate`, { url: `${site.url}quick` });
    await fetch(fleet.url + path, { method: "DELETE" });
    const events = await eventsOf(path);

    const navigations = ofType(events, "navigation");
    expect(navigations.map(({ url, status }) => ({ url, status }))).toEqual([
      { url: site.url.href, status: 200 },
      { url: `${site.url}gone`, status: 404 },
    ]);
    const tab = navigations[0]?.tab;
    const script = `${site.url}page.js`;
    expect(ofType(events, "console")).toContainEqual(
      expect.objectContaining({ level: "warning", text: "a warning", url: script, line: 3 }),
    );
    expect(ofType(events, "error")).toMatchObject([
      { text: "an error of the page", url: script, line: 4, column: expect.any(Number) },
    ]);
    expect(ofType(events, "request_failed")).toMatchObject([
      { url: "http://127.0.0.1:9/gone", source: script, line: 5 },
    ]);
    expect(ofType(events, "action")).toMatchObject([
      { name: "click", by: "api", tab, arguments: { selector: "#go" } },
      { name: "click", by: "api", tab },
      { name: "dialog", by: "api" },
      { name: "navigate", by: "api", tab },
    ]);
    expect(ofType(events, "dialog")).toMatchObject([
      { state: "opened", kind: "confirm", text: "sure?" },
      { state: "accepted", kind: "confirm", by: "the API" },
    ]);
    expect(ofType(events, "cdp")).toMatchObject([
      { state: "connected", by: expect.stringContaining("127.0.0.1") },
      { state: "disconnected", by: expect.stringContaining("127.0.0.1") },
    ]);
  },
  LONG_MS,
);

test(
  "a fetch job's recording has the steps of its recipe, what its browser says of the page, and what it cannot hear",
  async () => {
    const actions = [
      { kind: "wait", selector: "#go" },
      { kind: "click", selector: "#nowhere" },
    ];
    const recipes = [{ pattern: "/*", actions, timeout_s: 2 }];
    await post("/hosts/127.0.0.1", { recipes }, "PUT");
    await fleet.lanesWarm(LONG_MS);
    const { job_id } = await fleet.submit(site.url.href, { idle_seconds: 0.3 });
    await fleet.finished(job_id, LONG_MS);
    await post("/hosts/127.0.0.1", { recipes: [] }, "PUT");
    const events = await eventsOf(`/jobs/${job_id}`);
    expect(ofType(events, "start")).toMatchObject([{ unheard: ["console", "error"] }]);
    expect(ofType(events, "navigation")).toMatchObject([{ url: site.url.href, status: 200 }]);
    expect(ofType(events, "step")).toMatchObject([
      { of: "recipe", outcome: "done", text: expect.stringContaining("1/2 wait #go") },
      { of: "recipe", outcome: "failed", text: expect.stringContaining("2/2 click #nowhere") },
    ]);
    const said = ofType(events, "console").filter(({ url }) => url === `${site.url}missing.png`);
    expect(said).toMatchObject([{ level: "error", text: expect.stringContaining("404") }]);
  },
  LONG_MS,
);

test(
  "a fetch job's recording has where the elements of its recipe's steps are, as that of a session does",
  async () => {
    const url = `${site.url}framed`;
    const { session_id } = await post<{ session_id: string }>("/sessions", { url });
    const path = `/sessions/${session_id}`;
    await post(`${path}/click`, { selector: "#go" });
    await post(`${path}/click`, { selector: "#go", frame: ["#in"] });
    await fetch(fleet.url + path, { method: "DELETE" });
    const acted = ofType(await eventsOf(path), "action").map(({ box }) => box);
    const [button, framed] = Box.array().length(2).parse(acted) as [Box, Box];
    expect([framed.x, framed.width, framed.height]).toEqual([310, 70, 30]);
    expect(framed.y - button.y).toBe(201);

    const actions = [
      { kind: "click", selector: "#go" },
      { kind: "click", selector: "#go", frame: ["#in"] },
      { kind: "press", key: "Tab" },
      { kind: "click", selector: "#off" },
    ];
    const recipes = [{ pattern: "/framed", actions, timeout_s: 10 }];
    await post("/hosts/127.0.0.1", { recipes }, "PUT");
    await fleet.lanesWarm(LONG_MS);
    const { job_id } = await fleet.submit(url, { idle_seconds: 0.3, post_click_seconds: 0 });
    await fleet.finished(job_id, LONG_MS);
    await post("/hosts/127.0.0.1", { recipes: [] }, "PUT");
    const steps = ofType(await eventsOf(`/jobs/${job_id}`), "step");
    expect(steps.map(({ outcome, box }) => ({ outcome, box }))).toEqual([
      { outcome: "done", box: button },
      { outcome: "done", box: framed },
      { outcome: "done", box: undefined },
      { outcome: "failed", box: expect.objectContaining({ x: 20, y: button.y + 51, width: 90 }) },
    ]);
  },
  LONG_MS,
);

test(
  "a script's recording has its attempt with the reason of its end, its lines, and its actions as the script's",
  async () => {
    await fleet.lanesWarm(LONG_MS);
    const code = `import { session, log } from "flotilla";
await session.click({ selector: "#go" });
await log("looked around");
throw new Error("it gave up");`;
    const { job_id } = await fleet.submit(site.url.href, { mode: "rerun", code, goal: "looks" });
    await fleet.finished(job_id, LONG_MS);
    const events = await eventsOf(`/jobs/${job_id}`);
    expect(ofType(events, "start")).toMatchObject([{ unheard: ["console", "error"] }]);
    expect(ofType(events, "hears")).toMatchObject([{ kinds: ["console", "error"] }]);
    // The hub's own looks at the page have nobody.
    const acted = ofType(events, "action").filter(({ by }) => by !== undefined);
    expect(acted).toMatchObject([{ name: "click", by: "script" }]);
    expect(ofType(events, "stage")).toContainEqual(
      expect.objectContaining({ stage: "run", text: "looked around" }),
    );
    expect(ofType(events, "step")).toMatchObject([
      {
        of: "script",
        text: "attempt 1: script_error",
        outcome: "failed",
        reason: expect.stringContaining("it gave up"),
      },
    ]);
    expect(ofType(events, "console").map(({ text }) => text)).toContain("a warning");
  },
  LONG_MS,
);

test(
  "the session that a fetch job leaves open says what it does not hear of its page until somebody acts in it",
  async () => {
    await fleet.lanesWarm(LONG_MS);
    const options = { keep_session: true, idle_seconds: 0.3 };
    const { job_id } = await fleet.submit(site.url.href, options);
    const { session_id } = await fleet.finished(job_id, LONG_MS);
    const path = `/sessions/${session_id}`;
    await post(`${path}/evaluate`, { code: 'console.log("heard")' });
    await fetch(fleet.url + path, { method: "DELETE" });
    const events = await eventsOf(path);
    expect(ofType(events, "start")).toMatchObject([{ unheard: ["console", "error"] }]);
    const types = events.map(({ type }) => type);
    expect(ofType(events, "hears")).toMatchObject([{ kinds: ["console", "error"] }]);
    expect(types.indexOf("hears")).toBeLessThan(types.indexOf("console"));
  },
  LONG_MS,
);

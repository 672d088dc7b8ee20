import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TimedEvent } from "#shared/recording/events.ts";
import { FRAME, type Frame, framesOf } from "#shared/recording/frames.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import type { Recording, RecordingExports } from "#shared/recording/record.ts";
import { Har } from "#test/support/clients/har.ts";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { drawUpdates } from "#test/support/clients/rfb-decoder.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";

/** Recordings of real lanes, from the page to the bytes that a player reads (rules/recordings#what-is-recorded). */

const LONG_MS = 180_000;
const SECRET = "typed-7f3a-secret";
const PASSWORD = "pass w/rd 44&ä";
const COOKIE = "planted-cookie-91c2";
const TOKEN = "planted-token-5d0e";
const HEADERS = { "content-type": "text/html", "set-cookie": `sid=${COOKIE}` };
const PAGE = `<!doctype html><title>Colours</title>
<style>body { margin: 0; height: 100vh; background: #f00 } input, button { position: fixed; top: 8px }
  button { width: 80px; height: 40px }</style>
<button id=go style="left: 300px" onclick="
  fetch('/slow').catch(() => {});
  document.body.style.background = '#00f'; console.log('turned blue'); fetch('http://127.0.0.1:9/gone').catch(() => {})">go</button>
<button id=login style="left: 500px" onclick="fetch('/login?word=' + encodeURIComponent(word.value),
  { headers: { authorization: 'Bearer ${TOKEN}', 'x-word': encodeURIComponent(word.value) } })">login</button>
<input id=word type=password>`;

/** So many that a picture of it is compressed with loss. */
const COLOURS = `<!doctype html><title>Many colours</title>
<body style="margin: 0; height: 100vh; background: conic-gradient(from 20deg, red, yellow, lime, aqua, blue, magenta, red)">`;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
const dir = mkdtempSync(join(tmpdir(), "flotilla-video-"));

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, server) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/colours") return new Response(COLOURS, { headers: HEADERS });
      if (pathname !== "/slow") return new Response(PAGE, { headers: HEADERS });
      // Its answer has no end.
      server.timeout(request, 0);
      return new Response(new ReadableStream({ start: (body) => body.enqueue(PAGE) }));
    },
  });
  fleet = await startFleet({
    lanes: 1,
    env: {
      SVC_DRAIN_TIMEOUT_S: "1",
      SVC_RECIPE_ENV: "SHOP_PASSWORD@127.0.0.1",
      SHOP_PASSWORD: PASSWORD,
    },
  });
  await fleet.lanesWarm(LONG_MS);
}, LONG_MS);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
  rmSync(dir, { recursive: true });
}, LONG_MS);

const json = async <T>(path: string, init?: RequestInit): Promise<T> =>
  (await (await fetch(fleet.url + path, init)).json()) as T;
const post = <T>(path: string, body: unknown = {}) =>
  json<T>(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
const whole = (path: string) =>
  until(`the end of ${path}`, LONG_MS, async () => {
    const recording = await json<Recording>(`${path}/recording`);
    return recording.state === "whole" ? recording : null;
  });
const bytesOf = async (path: string, range?: string) =>
  Buffer.from(
    await (
      await fetch(`${fleet.url}${path}/recording/data`, {
        headers: range === undefined ? {} : { Range: range },
      })
    ).arrayBuffer(),
  );
const eventsOf = async (path: string) =>
  (await json<{ items: TimedEvent[] }>(`${path}/recording/events`)).items;

/** What its page asked for; Chromium itself asks for an icon when it likes. */
const requestsOf = async (path: string) =>
  Har.parse(await json(`${path}/har.json`)).log.entries.filter(
    ({ request }) => !request.url.endsWith("/favicon.ico"),
  );

/** The screen at the end of a chunk, of which nothing else is read. */
async function drawnBy(path: string, { offset, length, width, height }: ChunkPlace) {
  const bytes = await bytesOf(path, `bytes=${offset}-${offset + length - 1}`);
  const rfb = [...framesOf(bytes)].filter(({ kind }) => kind === FRAME.rfb);
  return drawUpdates(Buffer.concat(rfb.map(({ payload }: Frame) => payload)), { width, height });
}

const BOX = {
  x: expect.any(Number),
  y: expect.any(Number),
  width: expect.any(Number),
  height: expect.any(Number),
};
const boxOf = (event: TimedEvent | undefined) => {
  if (event?.type !== "action" || !event.box) throw new Error("the action has no box");
  return event.box;
};

test(
  "a headful job's recording shows its page, and every chunk can be drawn alone",
  async () => {
    const { job_id } = await fleet.submit(site.url.href, { wait_seconds: 3, final_state: false });
    await fleet.finished(job_id, LONG_MS);
    const path = `/jobs/${job_id}`;
    const recording = await whole(path);
    expect(recording).toMatchObject({ mode: "screen", width: 1920, height: 1080 });
    for (const chunk of recording.chunks) {
      const screen = await drawnBy(path, chunk);
      expect(screen.drawn()).toBe(1);
    }
    const last = recording.chunks.at(-1) as ChunkPlace;
    expect((await drawnBy(path, last)).at(960, 700)).toEqual([255, 0, 0]);
    const events = await eventsOf(path);
    expect(events[0]).toMatchObject({ type: "start", of: "job", id: job_id, screen: "headful" });
    const times = events.map(({ at_ms }) => at_ms);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(events.map(({ type }) => type)).toContain("navigation");
    expect(events.filter(({ type }) => type === "stage").length).toBeGreaterThan(3);
  },
  LONG_MS,
);

test(
  "a picture that was compressed with loss is not sent once more without (rules/recordings#what-is-recorded)",
  async () => {
    await fleet.lanesWarm(LONG_MS);
    const { session_id } = await post<{ session_id: string }>("/sessions", {
      url: `${site.url.href}colours`,
    });
    const path = `/sessions/${session_id}`;
    await until("the first picture", LONG_MS, async () => {
      const live = await json<Partial<Recording>>(`${path}/recording`);
      return (live.chunks?.length ?? 0) > 0 && (live.bytes ?? 0) > 50_000;
    });
    // The page stands still meanwhile.
    await post(`${path}/evaluate`, {
      code: "new Promise((done) => setTimeout(done, 5_000))",
      timeout_s: 60,
    });
    await fetch(fleet.url + path, { method: "DELETE" });
    await whole(path);
    const drawn = [...framesOf(await bytesOf(path))].filter(({ kind }) => kind === FRAME.rfb);
    const first = drawn.findLast(({ length }) => length > 20_000)?.ms ?? 0;
    const after = drawn.filter(({ ms }) => ms > first + 500);
    expect(after.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(5_000);
  },
  LONG_MS,
);

const run = async (...argv: string[]) =>
  Buffer.from(await new Response(Bun.spawn(argv, { stderr: "inherit" }).stdout).arrayBuffer());

for (const headless of [false, true])
  test(
    `a ${headless ? "headless" : "headful"} job becomes a video that shows its page (rules/recordings#export-as-a-video)`,
    async () => {
      const { job_id } = await fleet.submit(site.url.href, {
        headless,
        wait_seconds: 1,
        final_state: false,
      });
      await fleet.finished(job_id, LONG_MS);
      const path = `/jobs/${job_id}`;
      const { ms, width, height } = await whole(path);
      await post(`${path}/recording/exports`, { format: "mp4" });
      await until("the video", LONG_MS, async () => {
        const { items } = await json<RecordingExports>(`${path}/recording/exports`);
        if (items[0]?.status === "failed") throw new Error(items[0].error ?? "");
        return items[0]?.status === "done";
      });
      const file = join(dir, `${job_id}.mp4`);
      await Bun.write(file, await fetch(`${fleet.url}${path}/recording/video.mp4`));
      const entries = "format=duration:stream=codec_name,width,height";
      const probe = ["ffprobe", "-v", "error", "-show_entries", entries, "-of", "json", file];
      const { streams, format } = JSON.parse((await run(...probe)).toString());
      const even = (side: number | null) => Math.ceil((side ?? 0) / 2) * 2;
      expect(streams).toEqual([{ codec_name: "h264", width: even(width), height: even(height) }]);
      expect(Math.abs(Number(format.duration) - ms / 1_000)).toBeLessThan(0.5);
      // The page is red, and stands there at the end; the pointer is in its middle.
      const filters = ["-vf", "format=rgb24,crop=1:1:960:700", "-f", "rawvideo", "-"];
      const pixels = [...(await run("ffmpeg", "-v", "error", "-i", file, ...filters))].slice(-3);
      expect(pixels).toEqual([255, 0, 0].map((n) => expect.closeTo(n, -1.3)));
    },
    LONG_MS,
  );

for (const headless of [false, true])
  test(
    `a ${headless ? "headless" : "headful"} session's recording has what was done, and nothing that was typed`,
    async () => {
      await fleet.lanesWarm(LONG_MS);
      const opened = await post<{ session_id: string }>("/sessions", {
        url: site.url.href,
        headless,
      });
      const path = `/sessions/${opened.session_id}`;
      await until("the first picture", LONG_MS, async () => {
        const live = await json<Partial<Recording>>(`${path}/recording`);
        return (live.chunks?.length ?? 0) > 0;
      });
      await post(`${path}/fill`, { selector: "#word", text: SECRET });
      await post(`${path}/click`, { selector: "#go" });
      await until("the click in the recording", LONG_MS, async () => {
        const events = await eventsOf(path);
        const turned = events.some(
          (event) => event.type === "console" && event.text === "turned blue",
        );
        return turned && events.some((event) => event.type === "action" && event.name === "click");
      });
      const click = (await eventsOf(path)).find((e) => e.type === "action" && e.name === "click");
      const began = click?.type === "action" ? click.at_ms - click.ms : 0;
      await until("a picture of what it did", LONG_MS, async () => {
        const frames = [...framesOf(await bytesOf(path))];
        // A picture of a page without a display is a JPEG.
        if (headless) return frames.some(({ kind, ms }) => kind === FRAME.rfb && ms >= began);
        const chunk = (await json<Recording>(`${path}/recording`)).chunks.at(-1) as ChunkPlace;
        return (await drawnBy(path, chunk)).at(960, 700)?.[2] === 255;
      });
      // The picture of a lane with a display begins with Chromium's own bars.
      const code = "screenY + outerHeight - innerHeight";
      const bars = await post<{ result: number }>(`${path}/evaluate`, { code });
      const y = headless ? 8 : 8 + bars.result;
      expect(boxOf(click)).toEqual({ x: 300, y, width: 80, height: 40 });
      await post(`${path}/recipe`, {
        actions: [
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder of a recipe
          { kind: "fill", selector: "#word", text: "${ENV:SHOP_PASSWORD}" },
          { kind: "click", selector: "#login" },
        ],
      });
      const told = await until("the login in the HAR of the open session", LONG_MS, async () => {
        const entries = await requestsOf(path);
        const login = entries.find(({ request }) => request.url.includes("/login"));
        return login?.response.status === 200 && entries;
      });
      await fetch(fleet.url + path, { method: "DELETE" });
      const recording = await whole(path);
      for (const chunk of recording.chunks) expect((await drawnBy(path, chunk)).drawn()).toBe(1);
      const events = await eventsOf(path);
      expect(events.filter(({ type }) => type === "action")).toMatchObject([
        { name: "fill", outcome: "done", arguments: { text: "*** (17 characters)" } },
        { name: "click", outcome: "done", arguments: { selector: "#go" } },
        { name: "evaluate", outcome: "done" },
        { name: "recipe", outcome: "done" },
      ]);
      expect(events.filter(({ type }) => type === "step")).toMatchObject([
        { of: "recipe", outcome: "done", text: expect.stringContaining("1/2 fill"), box: BOX },
        { of: "recipe", outcome: "done", text: expect.stringContaining("2/2 click"), box: BOX },
      ]);
      expect(events.some(({ type }) => type === "request_failed")).toBe(true);
      // rules/recordings#requests: once the session has ended, what was under way has no end.
      const requests = await requestsOf(path);
      expect(requests.map(({ request }) => request.url)).toEqual(
        told.map(({ request }) => request.url),
      );
      const of = (part: string) => requests.find(({ request }) => request.url.includes(part));
      expect(of("/slow")).toMatchObject({ response: { status: 200 }, _unfinished: true });
      expect(of("/gone")).toMatchObject({ _error: "net::ERR_UNSAFE_PORT" });
      expect(of("/login")?.request).toMatchObject({
        url: `${site.url.href}login?word=***`,
        cookies: [{ name: "sid", value: "***" }],
      });
      const bytes = await bytesOf(path);
      for (const secret of [SECRET, COOKIE, TOKEN, PASSWORD, encodeURIComponent(PASSWORD)])
        expect(bytes.includes(secret)).toBe(false);
    },
    LONG_MS,
  );

test(
  "a person at a viewer stands in the recording with clicks and the number of keys, and what they typed stands nowhere (rules/recordings#viewers-in-a-recording)",
  async () => {
    await fleet.lanesWarm(LONG_MS);
    const { session_id } = await post<{ session_id: string }>("/sessions", { url: site.url.href });
    const path = `/sessions/${session_id}`;
    const evaluate = async <T>(code: string) =>
      (await post<{ result: T }>(`${path}/evaluate`, { code })).result;
    const top = await evaluate<number>("screenY + outerHeight - innerHeight");
    const url = `${fleet.url.replace(/^http/, "ws")}${path}/novnc/websockify`;
    const watcher = await connectRfb(`${url}?view_only=true`);
    watcher.click(40, top + 18);
    const person = await connectRfb(url);
    person.click(40, top + 18);
    await until("the focus of the field", LONG_MS, () =>
      evaluate<boolean>("document.activeElement?.id === 'word'"),
    );
    person.type(SECRET);
    await until("what was typed", LONG_MS, () =>
      evaluate<boolean>(`document.querySelector('#word').value.length === ${SECRET.length}`),
    );
    await Promise.all([watcher.close(), person.close()]);
    const people = await until("both to have left, in the recording", LONG_MS, async () => {
      const events = await eventsOf(path);
      const theirs = events.filter(({ type }) => type === "viewer" || type === "input");
      const left = theirs.filter((e) => e.type === "viewer" && e.state === "disconnected");
      return left.length === 2 ? theirs : null;
    });
    const told = people.filter((event) => event.type === "viewer");
    const local = { by: expect.stringContaining("127.0.0.1"), from: expect.any(String) };
    const by = (mode: string) => told.filter((event) => event.mode === mode);
    expect(by("view").map(({ state }) => state)).toEqual(["connected", "disconnected"]);
    expect(by("control")).toMatchObject([
      { state: "connected", ...local },
      { state: "took_over", ...local },
      { state: "disconnected", ...local },
    ]);
    const inputs = people.filter((event) => event.type === "input");
    expect(inputs[0]).toMatchObject({ kind: "pointer", count: 1, x: 40, y: Math.round(top + 18) });
    const typed = inputs.slice(1);
    expect(typed.every(({ kind, x }) => kind === "keys" && x === undefined)).toBe(true);
    expect(typed.length).toBeLessThan(5);
    expect(typed.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(SECRET.length);
    await fetch(fleet.url + path, { method: "DELETE" });
    await whole(path);
    expect((await bytesOf(path)).includes(SECRET)).toBe(false);
  },
  LONG_MS,
);

test(
  "what a worker recorded before it was killed can be played up to its last second",
  async () => {
    await fleet.lanesWarm(LONG_MS);
    const { session_id } = await post<{ session_id: string }>("/sessions", { url: site.url.href });
    const path = `/sessions/${session_id}`;
    await post(`${path}/click`, { selector: "#go" });
    await until("the click in the recording", LONG_MS, async () =>
      (await eventsOf(path)).some(({ type }) => type === "action"),
    );
    await until("the click's requests in the recording", LONG_MS, async () => {
      const last = (await requestsOf(path)).at(-1);
      return last?.request.url.endsWith("/gone") && last._error !== undefined;
    });
    fleet.worker.kill("SIGKILL");
    const cut = await until("the recording to be cut", LONG_MS, async () => {
      const recording = await json<Recording>(`${path}/recording`);
      return recording.state === "cut" ? recording : null;
    });
    expect(cut.end_reason).toBeNull();
    for (const chunk of cut.chunks) expect((await drawnBy(path, chunk)).drawn()).toBe(1);
    expect((await eventsOf(path)).filter(({ type }) => type === "action")).toHaveLength(1);
    expect(await requestsOf(path)).toMatchObject([
      { request: { url: site.url.href }, response: { status: 200 } },
      { request: { url: `${site.url.href}slow` }, _unfinished: true },
      { request: { url: "http://127.0.0.1:9/gone" }, response: { status: 0 } },
    ]);
  },
  LONG_MS,
);

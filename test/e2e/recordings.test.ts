import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TimedEvent } from "#shared/recording/events.ts";
import { FRAME, type Frame, framesOf } from "#shared/recording/frames.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import type { Recording } from "#shared/recording/record.ts";
import { drawUpdates } from "#test/support/clients/rfb-decoder.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";

/** Recordings of real lanes, from the page to the bytes that a player reads (rules/recordings#what-is-recorded). */

const LONG_MS = 180_000;
const SECRET = "typed-7f3a-secret";
const PAGE = `<!doctype html><title>Colours</title>
<style>body { margin: 0; height: 100vh; background: #f00 } input, button { position: fixed; top: 8px }
  button { width: 80px; height: 40px }</style>
<button id=go style="left: 300px" onclick="
  document.body.style.background = '#00f'; console.log('turned blue'); fetch('http://127.0.0.1:9/gone').catch(() => {})">go</button>
<input id=word type=password>`;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(PAGE, { headers: { "content-type": "text/html" } }),
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

/** The screen at the end of a chunk, of which nothing else is read. */
async function drawnBy(path: string, { offset, length, width, height }: ChunkPlace) {
  const bytes = await bytesOf(path, `bytes=${offset}-${offset + length - 1}`);
  const rfb = [...framesOf(bytes)].filter(({ kind }) => kind === FRAME.rfb);
  return drawUpdates(Buffer.concat(rfb.map(({ payload }: Frame) => payload)), { width, height });
}

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
      await post(`${path}/recipe`, { actions: [{ kind: "press", key: "Tab" }] });
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
        { of: "recipe", outcome: "done", text: expect.stringContaining("1/1 press Tab") },
      ]);
      expect(events.some(({ type }) => type === "request_failed")).toBe(true);
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
    fleet.worker.kill("SIGKILL");
    const cut = await until("the recording to be cut", LONG_MS, async () => {
      const recording = await json<Recording>(`${path}/recording`);
      return recording.state === "cut" ? recording : null;
    });
    expect(cut.end_reason).toBeNull();
    for (const chunk of cut.chunks) expect((await drawnBy(path, chunk)).drawn()).toBe(1);
    expect((await eventsOf(path)).filter(({ type }) => type === "action")).toHaveLength(1);
  },
  LONG_MS,
);

import { afterEach, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { recordCast } from "#worker/browser/recording/cast-source.ts";
import type { ScreenSink } from "#worker/browser/recording/screen-sink.ts";

/** The head of a JPEG of so many pixels, up to 255, which is all that is read of it. */
function jpegOf(width: number, height: number): string {
  const head = Buffer.from("ffd8ffc0000b08000000000101110000", "hex");
  head[8] = height;
  head[10] = width;
  return head.toString("base64");
}
const JPEG = jpegOf(2, 1);

let browser: ReturnType<typeof Bun.serve> | null = null;
afterEach(() => browser?.stop(true));

/**
 * A browser with the first frame of each screencast: null for one that says nothing, as those do that begin while a tab
 * swaps its page. Later ones show the last frame.
 */
function browserWith(
  frames: (string | null)[],
  starts: PromiseWithResolvers<void>[],
  attached = new Set<string>(),
) {
  let started = 0;
  let sessions = 0;
  browser = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, server) =>
      server.upgrade(request, { data: undefined }) ? undefined : new Response(),
    websocket: {
      message: (socket, text) => {
        const { id, method, params, sessionId = "" } = JSON.parse(String(text));
        const send = (message: object) => socket.send(JSON.stringify(message));
        const event = (name: string, params: object, sessionId?: string) =>
          send({ method: name, params, sessionId });
        if (method === "Target.attachToTarget") {
          sessions += 1;
          const own = `s${sessions}`;
          attached.add(own);
          const targetInfo = { targetId: params.targetId, type: "page", url: "" };
          event("Target.attachedToTarget", {
            sessionId: own,
            targetInfo,
            waitingForDebugger: false,
          });
          send({ id, result: { sessionId: own } });
          return;
        }
        if (method === "Target.detachFromTarget") {
          attached.delete(params.sessionId);
          event("Target.detachedFromTarget", { sessionId: params.sessionId });
        }
        send({ id, result: {} });
        if (method !== "Page.startScreencast") return;
        started += 1;
        const data = frames[started - 1] ?? (started > frames.length ? frames.at(-1) : null);
        if (data) event("Page.screencastFrame", { data, sessionId: 1 }, sessionId);
        starts[started - 1]?.resolve();
      },
    },
  });
  return `ws://127.0.0.1:${browser.port}/`;
}

test("a screencast that says nothing is started anew, ever more seldom, until it shows the page", async () => {
  const starts = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const clock = createFakeClock();
  const over = new AbortController();
  const drawn = Promise.withResolvers<Uint8Array>();
  const sink: ScreenSink = {
    begin: () => {},
    update: (bytes) => drawn.resolve(bytes),
    isDue: () => false,
    restMs: () => 333,
  };
  const recorded = recordCast({
    cdp_url: browserWith([null, null, JPEG], starts),
    activeTarget: () => "tab",
    sink,
    clock,
    signal: over.signal,
  });
  await starts[0]?.promise;
  await clock.sleeperIn(1_000);
  await clock.advance(1_000);
  await starts[1]?.promise;
  await clock.sleeperIn(2_000);
  await clock.advance(2_000);
  const update = await drawn.promise;
  expect(Buffer.from(update).includes(Buffer.from(JPEG, "base64"))).toBe(true);
  over.abort();
  await recorded;
});

test("a size that a page has for one frame alone, as while a screenshot is taken, is not recorded", async () => {
  const frames = [jpegOf(200, 100), jpegOf(20, 10), jpegOf(200, 101), jpegOf(200, 101)];
  const starts = frames.map(() => Promise.withResolvers<void>());
  const clock = createFakeClock();
  const over = new AbortController();
  const begun: string[] = [];
  const done = Promise.withResolvers<void>();
  const recorded = recordCast({
    cdp_url: browserWith(frames, starts),
    activeTarget: () => "tab",
    sink: {
      begin: ({ width, height, why }) => {
        begun.push(`${why} ${width}x${height}`);
        if (why === "size") done.resolve();
      },
      update: () => {},
      isDue: () => false,
      restMs: () => 333,
    },
    clock,
    signal: over.signal,
  });
  for (const start of starts.slice(0, -1)) {
    await start.promise;
    await clock.sleeperIn(333);
    await clock.advance(333);
  }
  await done.promise;
  expect(begun).toEqual(["start 200x100", "size 200x101"]);
  over.abort();
  await recorded;
});

test("of the tabs that were the active one, only the last is attached to", async () => {
  const tabs = ["a", "b", "c", "d", "e"];
  const starts = tabs.map(() => Promise.withResolvers<void>());
  const attached = new Set<string>();
  const clock = createFakeClock();
  const over = new AbortController();
  let active = 0;
  const recorded = recordCast({
    cdp_url: browserWith(
      tabs.map(() => JPEG),
      starts,
      attached,
    ),
    activeTarget: () => tabs[active] ?? null,
    sink: { begin: () => {}, update: () => {}, isDue: () => false, restMs: () => 100_000 },
    clock,
    signal: over.signal,
  });
  for (const start of starts) {
    await start.promise;
    active += 1;
    await clock.sleeperIn(500);
    await clock.advance(500);
  }
  expect([...attached]).toEqual(["s5"]);
  over.abort();
  await recorded;
});

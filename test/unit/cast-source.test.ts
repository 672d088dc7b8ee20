import { afterEach, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { recordCast } from "#worker/browser/recording/cast-source.ts";
import type { ScreenSink } from "#worker/browser/recording/screen-sink.ts";

/** The head of a JPEG of 2 × 1 pixels, which is all that is read of it. */
const JPEG = Buffer.from("ffd8ffc0000b08000100020101110000", "hex").toString("base64");

let browser: ReturnType<typeof Bun.serve> | null = null;
afterEach(() => browser?.stop(true));

/** A browser whose first screencasts say nothing, as those do that begin while a tab swaps its page. */
function browserWith(silent: number, starts: PromiseWithResolvers<void>[]) {
  let started = 0;
  browser = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, server) =>
      server.upgrade(request, { data: undefined }) ? undefined : new Response(),
    websocket: {
      message: (socket, text) => {
        const { id, method } = JSON.parse(String(text));
        const send = (message: object) => socket.send(JSON.stringify(message));
        const event = (name: string, params: object, sessionId?: string) =>
          send({ method: name, params, sessionId });
        if (method === "Target.attachToTarget") {
          const targetInfo = { targetId: "tab", type: "page", url: "" };
          const attached = { sessionId: "s1", targetInfo, waitingForDebugger: false };
          event("Target.attachedToTarget", attached);
        }
        send({ id, result: { sessionId: "s1" } });
        if (method !== "Page.startScreencast") return;
        started += 1;
        if (started > silent) event("Page.screencastFrame", { data: JPEG, sessionId: 1 }, "s1");
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
    cdp_url: browserWith(2, starts),
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

import { expect, test } from "bun:test";
import { openCdpPipe } from "#test/support/fakes/cdp-pipe.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { CdpSession, Protocol } from "#worker/browser/cdp/connection.ts";
import { watchNewWindows } from "#worker/browser/record/new-windows.ts";

/** The first request of a new window waits until the window's network is visible. */

const WINDOW = "window-1";

/** A window whose browser does not answer `Network.enable`, on a clock that stands still. */
async function openWindow() {
  const released = Promise.withResolvers<string>();
  const pipe = openCdpPipe(({ method }) => {
    if (method === "Fetch.continueRequest") released.resolve(method);
  });
  const attached = Promise.withResolvers<CdpSession>();
  pipe.connection.root.on("Target.attachedToTarget", ({ sessionId }) => {
    const session = pipe.connection.session(sessionId);
    if (session) attached.resolve(session);
  });
  const info = { targetId: WINDOW, type: "page", title: "", url: "", attached: true };
  const event = { sessionId: "s", targetInfo: info, waitingForDebugger: true };
  pipe.say({ method: "Target.attachedToTarget", params: event });
  const session = await attached.promise;
  const clock = createFakeClock();
  const window = {
    session,
    target_id: WINDOW,
    type: "page",
    is_new: true,
    is_seen: false,
    seen: new Promise<void>(() => {}),
  };
  const root = pipe.connection.root;
  const watch = watchNewWindows({
    root,
    clock,
    windows: () => [window],
    bodies: null,
    onHeld: () => {},
  });
  watch.watch(window);
  const paused = { requestId: "f", frameId: WINDOW, request: { url: "http://a.test/" } };
  const hold = (networkId?: string) =>
    watch.pause.takes({ ...paused, networkId } as Protocol.Fetch.RequestPausedEvent);
  return { hold, session, clock, released: released.promise };
}

test("a window without an opener goes on once it has reported its request: nothing of it answers before", async () => {
  const { hold, session, released } = await openWindow();
  expect(hold("n")).toBe(true);
  session.emit("Network.requestWillBeSent", {
    requestId: "n",
  } as Protocol.Network.RequestWillBeSentEvent);
  expect(await released).toBe("Fetch.continueRequest");
});

test("one that has reported nothing goes on after 5 s", async () => {
  const { hold, clock, released } = await openWindow();
  expect(hold()).toBe(true);
  await clock.advance(5_000);
  expect(await released).toBe("Fetch.continueRequest");
});

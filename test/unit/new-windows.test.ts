import { expect, test } from "bun:test";
import { openCdpPipe } from "#test/support/fakes/cdp-pipe.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { CdpSession, Protocol } from "#worker/browser/cdp/connection.ts";
import { changeLateHeaders } from "#worker/browser/cdp/late-headers.ts";
import { watchNewWindows } from "#worker/browser/record/new-windows.ts";

/** The first request of a new window waits until the window's network is visible. */

const WINDOW = "window-1";
const TEAM = [{ name: "X-Team", value: "blue" }];

/** A window whose browser has answered `Network.enable`, or never does, on a clock that stands still. */
async function openWindow({ is_seen }: { is_seen: boolean }) {
  const released = Promise.withResolvers<Protocol.Fetch.ContinueRequestRequest>();
  const pipe = openCdpPipe(({ method, params }) => {
    if (method === "Fetch.continueRequest")
      released.resolve(params as Protocol.Fetch.ContinueRequestRequest);
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
    is_seen,
    seen: is_seen ? Promise.resolve() : new Promise<void>(() => {}),
  };
  const root = pipe.connection.root;
  changeLateHeaders(root, () => TEAM);
  const asked: string[] = [];
  const watch = watchNewWindows({
    root,
    clock,
    windows: () => [window],
    bodies: null,
    onHeld: (_, url) => asked.push(url),
  });
  watch.watch(window);
  const paused = { requestId: "f", frameId: WINDOW, request: { url: "http://a.test/" } };
  const hold = (networkId?: string) =>
    watch.pause.takes({ ...paused, networkId } as Protocol.Fetch.RequestPausedEvent);
  const report = (requestId: string) =>
    session.emit("Network.requestWillBeSent", {
      requestId,
    } as Protocol.Network.RequestWillBeSentEvent);
  return { hold, report, asked, clock, released: released.promise };
}

test("a window without an opener goes on once it has reported its request: nothing of it answers before", async () => {
  const { hold, report, released } = await openWindow({ is_seen: false });
  expect(hold("n")).toBe(true);
  report("n");
  expect(await released).toEqual({ requestId: "f" });
});

test("one that has reported nothing goes on after 5 s", async () => {
  const { hold, clock, released } = await openWindow({ is_seen: false });
  expect(hold()).toBe(true);
  await clock.advance(5_000);
  expect(await released).toEqual({ requestId: "f", headers: TEAM });
});

test("a request that was reported goes on by itself once its window is visible", async () => {
  const { hold, report } = await openWindow({ is_seen: true });
  report("n");
  expect(hold("n")).toBe(false);
});

test("one that began while its window became visible was never reported, and goes on with the headers that it lacks", async () => {
  const { hold, asked, released } = await openWindow({ is_seen: true });
  expect(hold("n")).toBe(true);
  expect(asked).toEqual(["http://a.test/"]);
  expect(await released).toEqual({ requestId: "f", headers: TEAM });
});

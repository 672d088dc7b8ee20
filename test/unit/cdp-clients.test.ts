import { expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { hearCommand, hearEvent } from "#worker/browser/bridge/cdp-follow.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import type { CdpTransport } from "#worker/browser/cdp/transport.ts";
import { type CdpClient, createCdpClients } from "#worker/browser/session/cdp-clients.ts";

/** A session's own connection whose browser the test plays; `sent` are the methods that reached it. */
function rig() {
  const clock = createFakeClock();
  const clients = createCdpClients(clock);
  const sent: string[] = [];
  const transport: CdpTransport = {
    onMessage: () => {},
    onClose: () => {},
    send: (text) => void sent.push(JSON.parse(text).method),
    close: () => {},
  };
  const connection = new CdpConnection(transport);
  clients.follow(connection);
  const attach = (target_id: string, type: string) => {
    transport.onMessage(JSON.stringify(attached(`own-${target_id}`, target_id, type)));
    const session = connection.session(`own-${target_id}`);
    if (!session) throw new Error("not attached");
    return session;
  };
  return { clock, clients, sent, attach };
}

const attached = (sessionId: string, targetId: string, type: string, waiting = true) => ({
  method: "Target.attachedToTarget",
  params: { sessionId, targetInfo: { targetId, type, url: "" }, waitingForDebugger: waiting },
});
const command = (client: CdpClient, method: string, params = {}, sessionId?: string) =>
  hearCommand(client, Buffer.from(JSON.stringify({ id: 1, method, params, sessionId })));
const HOLD = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
const RELEASE = "Runtime.runIfWaitingForDebugger";

test("a target is let go at once while no client holds anything", async () => {
  const { clients, attach, sent } = rig();
  const client = clients.join(null);
  void command(client, "Target.setAutoAttach", { ...HOLD, waitForDebuggerOnStart: false });
  attach("t", "page").post(RELEASE);
  expect(sent).toEqual([RELEASE]);
});

test("a client that never lets go, or never hears of the target, is waited for no longer than its time", async () => {
  const { clock, clients, attach, sent } = rig();
  const client = clients.join(null);
  void command(client, "Target.setAutoAttach", HOLD);
  attach("unheard", "page").post(RELEASE);
  attach("held", "page").post(RELEASE);
  hearEvent(client, JSON.stringify(attached("c1", "held", "page")), new Set());
  await clock.advance(4_999);
  expect(sent).toEqual([]);
  await clock.advance(1);
  expect(sent).toEqual([RELEASE]);
  await clock.advance(10_000);
  expect(sent).toEqual([RELEASE, RELEASE]);
  expect(clock.sleepers()).toEqual([]);
});

test("a client lets go only after the session itself has, and the filter of an auto-attach counts", async () => {
  const { clock, clients, attach, sent } = rig();
  const client = clients.join(null);
  void command(client, "Target.setAutoAttach", {
    ...HOLD,
    filter: [{ type: "service_worker", exclude: true }, {}],
  });
  attach("w", "service_worker").post(RELEASE);
  expect(sent).toEqual([RELEASE]);
  hearEvent(client, JSON.stringify(attached("c1", "p", "page")), new Set());
  const let_go = command(client, RELEASE, {}, "c1");
  let done = false;
  void let_go?.wait?.then(() => {
    done = true;
  });
  await clock.advance(1_000);
  expect(done).toBe(false);
  attach("p", "page").post(RELEASE);
  await let_go?.wait;
  expect(done).toBe(true);
});

test("the session lets go once the browser has answered all clients: its pipe would overtake their sockets", async () => {
  const { clock, clients, attach, sent } = rig();
  const joined = ["c1", "c2"].map((session_id) => {
    const client = clients.join(null);
    void command(client, "Target.setAutoAttach", HOLD);
    hearEvent(client, JSON.stringify(attached(session_id, "p", "page")), new Set());
    return { client, session_id };
  });
  attach("p", "page").post(RELEASE);
  const releases = joined.map(({ client, session_id }) => command(client, RELEASE, {}, session_id));
  // Each goes to the browser as soon as both have said it.
  await Promise.all(releases.map((release) => release?.wait));
  expect(sent).toEqual([]);
  expect(releases.map((release) => String(release?.answer))).toEqual(['{"id":1,', '{"id":1,']);
  releases[0]?.answered();
  await clock.advance(0);
  expect(sent).toEqual([]);
  releases[1]?.answered();
  await clock.advance(0);
  expect(sent).toEqual([RELEASE]);
  expect(clock.sleepers()).toEqual([]);
});

test("a service worker is let go as soon as all clients have said it: the browser answers them only then", async () => {
  const { clock, clients, attach, sent } = rig();
  const joined = ["c1", "c2"].map((session_id) => {
    const client = clients.join(null);
    void command(client, "Target.setAutoAttach", HOLD);
    hearEvent(client, JSON.stringify(attached(session_id, "w", "service_worker")), new Set());
    return { client, session_id };
  });
  attach("w", "service_worker").post(RELEASE);
  const say = async (which: number) => {
    const { client, session_id } = joined[which] ?? {};
    if (client) void command(client, RELEASE, {}, session_id);
    await clock.advance(0);
  };
  await say(0);
  expect(sent).toEqual([]);
  await say(1);
  expect(sent).toEqual([RELEASE]);
  expect(clock.sleepers()).toEqual([]);
});

test("a page is steered while a client has enabled Page on it, by whatever session", () => {
  const { clients } = rig();
  let changes = 0;
  clients.onChange(() => (changes += 1));
  const client = clients.join(null);
  hearEvent(client, JSON.stringify(attached("tab", "tab-target", "tab")), new Set());
  const below = { ...attached("page", "p", "page", false), sessionId: "tab" };
  hearEvent(client, JSON.stringify(below), new Set());
  expect(clients.steers("p")).toBe(false);
  void command(client, "Page.enable", {}, "page");
  expect(clients.steers("p")).toBe(true);
  // What was attached through a session goes with it.
  hearEvent(
    client,
    '{"method":"Target.detachedFromTarget","params":{"sessionId":"tab"}}',
    new Set(),
  );
  expect(clients.steers("p")).toBe(false);
  const direct = clients.join("p");
  void command(direct, "Page.enable");
  expect(clients.steers("p")).toBe(true);
  direct.leave();
  expect(clients.steers("p")).toBe(false);
  expect(changes).toBe(4);
});

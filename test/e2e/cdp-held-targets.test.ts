import { afterEach, expect, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type HttpSession, shareSessionFleet } from "#test/support/rigs/session-fleet.ts";
import { CdpConnection, type CdpSession } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";

/** New targets over `WS /sessions/{sid}/cdp` run when every client that holds them has let them go. */

let session: HttpSession;
const clients: CdpConnection[] = [];

const rig = shareSessionFleet((site) => {
  const html = (path: string, text: string) =>
    site.body(path, { mime: "text/html", bytes: Buffer.from(text) });
  const script = (path: string, text: string) =>
    site.body(path, { mime: "text/javascript", bytes: Buffer.from(text) });
  html("/service", "<script>navigator.serviceWorker.register('/service.js')</script>");
  script("/service.js", "fetch('/ran-service')");
  html("/shared", "<script>new SharedWorker('/shared.js')</script>");
  script("/shared.js", "fetch('/ran-shared')");
  html("/dedicated", "<script>new Worker('/dedicated.js')</script>");
  script("/dedicated.js", "fetch('/ran-dedicated')");
  html("/popup", "<script>window.open('/opened')</script>");
  html("/opened", "<script>fetch('/ran-popup')</script>");
  for (const kind of ["service", "shared", "dedicated", "popup"])
    site.body(`/ran-${kind}`, { mime: "text/plain", bytes: Buffer.from("ran") });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await session?.end();
  rig.site.forget();
  rig.site.hits.length = 0;
}, 180_000);

/** Of questions to the browser: enough for a target to ask its server, and over before it is let go by itself, after 15 s. */
const ROUNDS = 10;

const ran = (kind: string) => rig.site.hits.some(({ path }) => path === `/ran-${kind}`);

/** A program that holds every new target; what it has attached to comes out of `held`. */
async function connect(): Promise<{
  client: CdpConnection;
  held(type: string): Promise<CdpSession>;
}> {
  const client = new CdpConnection(await socketTransport(session.cdp_url));
  clients.push(client);
  const held: CdpSession[] = [];
  const hold = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
  const onAttached = (event: { sessionId: string; waitingForDebugger: boolean }) => {
    const attached = client.session(event.sessionId);
    if (!attached) return;
    if (event.waitingForDebugger) held.push(attached);
    attached.on("Target.attachedToTarget", onAttached);
    attached.post("Target.setAutoAttach", hold);
  };
  client.root.on("Target.attachedToTarget", onAttached);
  await client.root.send("Target.setAutoAttach", hold);
  return {
    client,
    held: (type) =>
      until(`a ${type} that is held`, 60_000, async () =>
        held.find(({ target }) => target?.type === type),
      ),
  };
}

const release = (target: CdpSession) => target.send("Runtime.runIfWaitingForDebugger");

test.each([
  ["service", "service_worker"],
  ["shared", "shared_worker"],
  ["dedicated", "worker"],
  ["popup", "page"],
])(
  "a %s target runs when the client lets it go, and not before",
  async (kind, type) => {
    session = await rig.fleet.open();
    const { client, held } = await connect();
    const navigated = session.act("navigate", {
      url: `${rig.site.origin}/${kind}`,
      wait_until: "commit",
    });
    const target = await held(type);
    // One that nobody held would have asked by now: both of these go to the same browser.
    for (let round = 0; round < ROUNDS; round += 1) {
      await client.root.send("Target.getTargets");
      await session.state();
    }
    expect(ran(kind)).toBe(false);
    await release(target);
    await rig.site.sent(`/ran-${kind}`);
    expect((await navigated).status).toBe(200);
  },
  180_000,
);

test("two clients hold a target until the second lets it go; one that leaves lets it go", async () => {
  session = await rig.fleet.open();
  const first = await connect();
  const second = await connect();
  await session.act("navigate", { url: `${rig.site.origin}/service`, wait_until: "commit" });
  const [one] = await Promise.all([first.held("service_worker"), second.held("service_worker")]);
  void release(one).catch(() => {});
  for (let round = 0; round < ROUNDS; round += 1) await first.client.root.send("Target.getTargets");
  expect(ran("service")).toBe(false);
  second.client.close();
  await rig.site.sent("/ran-service");
}, 180_000);

test("a client that holds nothing, or only what is below its page, keeps nobody waiting", async () => {
  session = await rig.fleet.open();
  const client = new CdpConnection(await socketTransport(session.cdp_url));
  clients.push(client);
  await client.root.send("Target.setAutoAttach", {
    autoAttach: true,
    waitForDebuggerOnStart: false,
    flatten: true,
  });
  await session.act("navigate", { url: `${rig.site.origin}/service` });
  await rig.site.sent("/ran-service");
}, 180_000);

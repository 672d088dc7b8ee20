import { afterAll, beforeAll, expect, test } from "bun:test";
import { ProxyOption } from "#shared/protocol/proxy.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import {
  callsOf,
  laneWarm,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import { startHttpUpstream, type UpstreamProxy } from "#test/support/servers/upstream-proxies.ts";

/** Where a session's browser may go: as narrow as it was opened, and as the job that left it open. */

const SLOW_MS = 180_000;
const LOGIN = { username: "anna", password: "pw-of-the-proxy" };

let rig: SessionRig;
let site: SiteServer;
let neighbour: SiteServer;
let proxy: UpstreamProxy;

beforeAll(async () => {
  [rig, site, neighbour] = await Promise.all([
    startSessionRig(),
    startServer("127.0.0.1"),
    startServer("127.0.0.1"),
  ]);
  for (const [one, title] of [
    [site, "site"],
    [neighbour, "neighbour"],
  ] as const)
    one.on("/", (_req, res) => {
      res.writeHead(200, { "content-type": "text/html", "access-control-allow-origin": "*" });
      res.end(`<!doctype html><title>${title}</title>`);
    });
  proxy = await startHttpUpstream({ names: { "far.test": "127.0.0.1" }, login: LOGIN });
}, 180_000);
afterAll(async () => {
  await rig.close();
  await Promise.all([site.stop(), neighbour.stop()]);
  proxy.stop();
}, 180_000);

const narrow = () => ({ mode: null, allow: [], deny: [`127.0.0.1:${neighbour.port}`] });
const fetchNeighbour = () => ({
  code: `fetch("${neighbour.origin}/").then((r) => r.status, (err) => String(err))`,
});

/** Why a session was not opened, once its lane is free again. */
async function refused(wish: Parameters<SessionRig["open"]>[0]): Promise<string> {
  const warm = laneWarm(rig.peer, 0);
  const said = await rig.open(wish).then(() => "it was opened", String);
  await warm;
  return said;
}

test(
  "a session is held to its egress, whatever its pages and its user try, and the next one is not",
  async () => {
    const session = await rig.open({ url: `${site.origin}/`, egress: narrow() });
    expect(await session.get<unknown>("evaluate", fetchNeighbour())).toBe(
      "TypeError: Failed to fetch",
    );
    const gone = await session.call("navigate", { url: `${neighbour.origin}/` });
    expect(gone.ok).toBe(false);
    expect(gone.error?.message).toContain("is denied by the worker's or the job's list");
    await session.close();
    expect(await refused({ url: `${neighbour.origin}/`, egress: narrow() })).toContain("is denied");
    const free = await rig.open({ url: `${neighbour.origin}/` });
    expect((await free.call("state")).place?.title).toBe("neighbour");
    await free.close();
  },
  SLOW_MS,
);

test(
  "a session that a job leaves open stays as narrow as the job",
  async () => {
    const message = assignment("kept", 0, 900);
    rig.peer.send({
      ...message,
      url: `${site.origin}/`,
      options: JobOptions.parse({ idle_seconds: 0.3, keep_session: true, egress: narrow() }),
    });
    const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === "kept");
    expect(result).toMatchObject({ status: "completed", capture: { traffic: expect.anything() } });
    const { session_id, lease_token } = message;
    const session = callsOf(rig.peer, rig.sessions, session_id);
    const gone = await session.call("navigate", { url: `${neighbour.origin}/` });
    expect(gone.ok).toBe(false);
    expect(gone.error?.message).toContain("is denied by the worker's or the job's list");
    const back = await session.call("navigate", { url: `${site.origin}/` });
    expect(back.ok).toBe(true);
    const warm = laneWarm(rig.peer, 0);
    rig.peer.send({ type: "HubCloseSession", session_id, lease_token, reason: "over" });
    await warm;
  },
  SLOW_MS,
);

test(
  "a session goes out through its proxy, which alone is told the login",
  async () => {
    const server = `http://127.0.0.1:${proxy.port}`;
    const session = await rig.open({
      url: `http://far.test:${site.port}/`,
      proxy: ProxyOption.parse({ server, ...LOGIN }),
    });
    expect((await session.call("state")).place?.title).toBe("site");
    expect(proxy.asked).toContain(`far.test:${site.port}`);
    expect(new Set(proxy.logins)).toEqual(new Set([`${LOGIN.username}:${LOGIN.password}`]));
    await session.close();
    const wrong = ProxyOption.parse({ server, username: "anna", password: "no" });
    expect(await refused({ url: `http://far.test:${site.port}/`, proxy: wrong })).toContain(
      "does not accept the given user name and password",
    );
  },
  SLOW_MS,
);

test(
  "through a proxy that makes tunnels to port 443 alone plain pages load, and of others the cause is told",
  async () => {
    const strict = await startHttpUpstream({ names: { "far.test": "127.0.0.1" }, ports: [443] });
    try {
      const through = ProxyOption.parse(`http://127.0.0.1:${strict.port}`);
      const session = await rig.open({ url: `http://far.test:${site.port}/`, proxy: through });
      expect((await session.call("state")).place?.title).toBe("site");
      // The browser's own requests go through the proxy as well, and may come first.
      const asked = `GET http://far.test:${site.port}/ HTTP/1.1`;
      expect(strict.carried.filter((request) => request.includes(asked))).not.toBeEmpty();
      await session.close();
      expect(await refused({ url: `https://far.test:${site.port}/`, proxy: through })).toContain(
        "it may allow tunnels only to port 443",
      );
    } finally {
      strict.stop();
    }
  },
  SLOW_MS,
);

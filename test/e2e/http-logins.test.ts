import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import type { HttpLogin } from "#shared/protocol/schema/http-credentials.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { laneWarm, type SessionRig, startSessionRig } from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/** Servers that ask for a login, and those that are given one (rules/browser-options#http-logins). */

setDefaultTimeout(180_000);

const PASSWORD = "opensesame-4711";
const BASIC = `Basic ${Buffer.from(`ali:${PASSWORD}`).toString("base64")}`;
const LOGIN: HttpLogin = {
  username: "ali",
  password: PASSWORD,
  hosts: ["127.0.0.1"],
  origin: null,
};

let site: SiteServer;
let far: SiteServer;
/** Who sent what as a login, by path. */
const sent = (server: SiteServer) =>
  Object.fromEntries(server.hits.map(({ path, headers }) => [path, headers.authorization ?? null]));

/** Answers those alone who log in. */
function lock(server: SiteServer, path: string, type: string, text: string): void {
  server.on(path, (req, res) => {
    const is_open = req.headers.authorization === BASIC;
    res.writeHead(is_open ? 200 : 401, {
      "content-type": is_open ? type : "text/html",
      ...(!is_open && { "www-authenticate": 'Basic realm="cave"' }),
    });
    res.end(is_open ? text : "<!doctype html><title>closed</title>closed");
  });
}

beforeAll(async () => {
  [site, far] = await Promise.all([startServer("127.0.0.1"), startServer("127.0.0.2")]);
  lock(
    site,
    "/",
    "text/html",
    `<!doctype html><title>waits</title><iframe src="${far.origin}/frame"></iframe>
<script src="/part.js"></script><script type="module">
const { status } = await fetch("/data");
await new Promise((answered) => { new Worker("/worker.js").onmessage = answered; });
document.title = "open " + status;
</script>`,
  );
  lock(site, "/part.js", "text/javascript", "1");
  lock(site, "/data", "text/plain", "data");
  lock(site, "/worker.js", "text/javascript", `fetch("/deep").then(() => postMessage(1));`);
  lock(site, "/deep", "text/plain", "deep");
  lock(
    site,
    "/repeats",
    "text/html",
    `<!doctype html><title>repeats</title><img src="/it?is=${PASSWORD}">`,
  );
  site.on("/open", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(
      `<!doctype html><title>waits</title><script type="module">
document.title = "data " + (await fetch("/data")).status;</script>`,
    );
  });
  lock(far, "/frame", "text/html", "<!doctype html><title>far</title>far");
});
afterAll(() => Promise.all([site.stop(), far.stop()]));
beforeEach(() => {
  for (const server of [site, far]) server.hits.length = 0;
});

let jobs = 0;

test("the HAR shows it nowhere, even where the page repeats it", async () => {
  const lane = await openJobLane();
  try {
    const { outcome, documents } = await lane.run({
      url: `${site.origin}/repeats`,
      extras: { http_login: LOGIN },
    });
    expect(outcome).toMatchObject({ status: "completed", http_status: 200, title: "repeats" });
    expect(site.hits.map(({ path }) => path)).toContain(`/it?is=${PASSWORD}`);
    const har = documents.get("har.json") ?? "";
    expect(har).toContain("/it?is=");
    expect(har).not.toContain(PASSWORD);
    expect(har).not.toContain(BASIC);
  } finally {
    await lane.close();
  }
});

describe.each([
  ["headless", "1"],
  ["headful", "0"],
])("on a %s lane", (_, headless_lanes) => {
  let rig: SessionRig;
  beforeAll(async () => {
    rig = await startSessionRig({ SVC_HEADLESS_LANES: headless_lanes });
  });
  afterAll(() => rig.close());

  const run = async (http_login: HttpLogin | null, path = "/") => {
    jobs += 1;
    const job_id = `login${jobs}`;
    const warm = laneWarm(rig.peer, 0);
    rig.peer.send({
      ...assignment(job_id, 0, 900 + jobs),
      url: `${site.origin}${path}`,
      // Longer than a busy machine takes to start a worker or a window, which asks for nothing meanwhile.
      options: JobOptions.parse({ idle_seconds: 3 }),
      extras: RunExtras.parse({ http_login }),
    });
    const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === job_id);
    await warm;
    return result;
  };

  test("a job gives it to its server for documents, files, calls and workers, and to no other", async () => {
    expect(await run(LOGIN)).toMatchObject({
      status: "completed",
      http_status: 200,
      title: "open 200",
    });
    const { "/favicon.ico": _icon, ...logins } = sent(site);
    expect(logins).toEqual({
      "/": BASIC,
      "/part.js": BASIC,
      "/data": BASIC,
      "/worker.js": BASIC,
      "/deep": BASIC,
    });
    expect(sent(far)).toEqual({ "/frame": null });
  });

  test("a call of a page that is open to everybody is given it, too", async () => {
    expect(await run(LOGIN, "/open")).toMatchObject({ title: "data 200" });
    const session = await rig.open({ url: `${site.origin}/open`, http_login: LOGIN });
    const code = `fetch("/data", { cache: "reload" }).then((answer) => answer.status)`;
    expect(await session.get<number>("evaluate", { code })).toBe(200);
    await session.close();
  });

  test("a login that is refused is given once, and the refusal is the page", async () => {
    expect(await run({ ...LOGIN, password: "wrong-password" })).toMatchObject({
      status: "completed",
      http_status: 401,
      title: "closed",
    });
    expect(site.hits.filter(({ path }) => path === "/")).toHaveLength(2);
  });

  test("a login of another origin stays where it is", async () => {
    expect(await run({ ...LOGIN, origin: "https://127.0.0.1" })).toMatchObject({
      status: "completed",
      http_status: 401,
    });
    expect(sent(site)["/"]).toBeNull();
  });

  test("a session gives it too", async () => {
    const session = await rig.open({ url: site.origin, http_login: LOGIN });
    const page = await session.get<string>("evaluate", {
      code: `fetch("/data").then((r) => r.text())`,
    });
    expect(page).toBe("data");
    expect(sent(site)["/"]).toBe(BASIC);
    await session.close();
  });
});

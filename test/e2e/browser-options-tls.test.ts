import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import {
  callsOf,
  laneWarm,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { makeOwnKey } from "#worker/replay/certificate.ts";

/** Sites whose certificates nobody trusts (rules/browser-options#invalid-certificates). */

setDefaultTimeout(180_000);

const SERVICE = `addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(fetch("/by-service-worker")));`;
const page = (
  far: string,
) => `<!doctype html><title>waits</title><iframe src="${far}/frame"></iframe>
<script type="module">
await new Promise((answered) => {
  const worker = new Worker("/worker.js");
  worker.onmessage = answered;
});
await navigator.serviceWorker.register("/service.js");
await navigator.serviceWorker.ready;
document.title = "opened";
</script>`;

const asked: string[] = [];
const { key, cert } = makeOwnKey(Date.now());
const startSite = (documents: () => Record<string, [type: string, text: string]>) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key, cert },
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      const [type, text] = documents()[pathname] ?? ["text/plain", "nothing"];
      return new Response(text, { headers: { "content-type": type } });
    },
  });

const far = startSite(() => ({ "/frame": ["text/html", "<!doctype html><p>framed"] }));
const site = startSite(() => ({
  "/": ["text/html", page(far.url.origin)],
  "/worker.js": ["text/javascript", `fetch("/by-worker").then(() => postMessage(1));`],
  "/service.js": ["text/javascript", SERVICE],
}));
const EVERY = ["/", "/frame", "/worker.js", "/by-worker", "/service.js", "/by-service-worker"];

let rig: SessionRig;
beforeAll(async () => {
  rig = await startSessionRig({ SVC_HEADLESS_LANES: "1" });
});
afterAll(async () => {
  await rig.close();
  await Promise.all([site.stop(true), far.stop(true)]);
});

const run = async (
  job_id: string,
  lease: number,
  options: object,
  ignore_https_errors: boolean,
) => {
  const message = assignment(job_id, 0, lease);
  rig.peer.send({
    ...message,
    url: site.url.href,
    options: JobOptions.parse({ idle_seconds: 0.5, ...options }),
    extras: RunExtras.parse({ browser_options: { ignore_https_errors } }),
  });
  const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === job_id);
  return { message, result };
};

test("a job opens such a site where it says so: its frames, its workers, and the session that it leaves open", async () => {
  asked.length = 0;
  const { message, result } = await run("any", 900, { keep_session: true }, true);
  expect(result).toMatchObject({ status: "completed", title: "opened" });
  for (const path of EVERY) expect(asked).toContain(path);
  const { session_id, lease_token } = message;
  const kept = callsOf(rig.peer, rig.sessions, session_id);
  await kept.get("navigate", { url: `${far.url.origin}/frame` });
  const warm = laneWarm(rig.peer, 0);
  rig.peer.send({ type: "HubCloseSession", session_id, lease_token, reason: "over" });
  await warm;
});

test("the next job on the lane does not, and is told what it could say", async () => {
  asked.length = 0;
  const warm = laneWarm(rig.peer, 0);
  const { result } = await run("strict", 901, {}, false);
  expect(result).toMatchObject({
    status: "failed",
    error: expect.stringContaining("or open it with ignore_https_errors"),
  });
  expect(asked).toEqual([]);
  await warm;
});

test("a session opens one, and goes on doing so after its browser was started again", async () => {
  const session = await rig.open({
    url: site.url.href,
    browser_options: { ignore_https_errors: true },
  });
  const title = () => session.get<string>("evaluate", { code: "document.title" });
  while ((await title()) !== "opened");
  const before = rig.live(session.session_id).browser()?.pid;
  // Started again on its own profile, whether or not the hub of this test takes what is saved.
  await session.call("profile_save", { name: "kept" });
  expect(rig.live(session.session_id).browser()?.pid).not.toBe(before);
  asked.length = 0;
  await session.get("navigate", { url: `${far.url.origin}/frame` });
  expect(asked).toContain("/frame");
  await session.close();
});

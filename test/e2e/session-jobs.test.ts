import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { BROWSER_STARTING } from "#shared/protocol/link/messages.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import type { Tab } from "#shared/protocol/schema/session.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  browserProcess,
  callsOf,
  laneWarm,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { freePort } from "#test/support/servers/ports.ts";
import type { SiteServer } from "#test/support/servers/site/server.ts";
import { startSessionSite } from "#test/support/servers/site/session-pages.ts";

let rig: SessionRig;
let site: SiteServer;
let tokens = 100;
const at = (path: string) => `${site.origin}${path}`;

/** Sends a job and gives back what identifies it; its session is `session-<job_id>`. */
function assign(
  job_id: string,
  url: string,
  options: Partial<Record<keyof JobOptions, unknown>> = {},
  in_session: string | null = null,
  lane_idx = 0,
) {
  const message = assignment(job_id, lane_idx, ++tokens);
  rig.peer.send({
    ...message,
    url,
    options: { ...JobOptions.parse({ idle_seconds: 0.3, ...options }) },
    extras: { ...message.extras, in_session },
    session_id: in_session ?? message.session_id,
  });
  return { ...message, session_id: in_session ?? message.session_id };
}
/** A page with the form whose job goes on until what is returned is called. */
function holdOpen(path: string): () => void {
  const over = Promise.withResolvers<void>();
  site.holdOpen(`${path}/open`, over.promise);
  const script = `fetch("${path}/open").then((answer) => answer.text())`;
  const html = `<!doctype html><title>Form</title><input id="name"><script>${script}</script>`;
  site.body(path, { mime: "text/html", bytes: Buffer.from(html) });
  return over.resolve;
}
const HELD = { max_wait_seconds: 600 };
const result = (job_id: string) =>
  rig.peer.nextWhere(["result"], (frame) => frame.job_id === job_id);

beforeAll(async () => {
  [rig, site] = await Promise.all([
    startSessionRig({ LANE_POOL: "2", MAX_CONCURRENT: "2" }),
    startSessionSite(),
  ]);
}, 180_000);
afterAll(async () => {
  await rig.close();
  await site.stop();
}, 180_000);

describe("sessions of jobs (rules/jobs#session-of-a-job)", () => {
  test("a running job's page takes actions, and its session ends with it", async () => {
    const warm = laneWarm(rig.peer, 0);
    const end = holdOpen("/held-form");
    const job = assign("running", at("/held-form"), HELD);
    const session = callsOf(rig.peer, rig.sessions, job.session_id);
    await rig.peer.next("JobAccepted");
    await until("the page", 60_000, async () => {
      const { place } = await session.call("state");
      return place?.title === "Form" && place.url === at("/held-form");
    });
    await session.get("fill", { selector: "#name", text: "from outside" });
    expect(
      await session.get<string>("evaluate", { code: "document.querySelector('#name').value" }),
    ).toBe("from outside");
    expect((await session.picture("preview", {})).mime).toBe("image/jpeg");
    const { entries } = await session.get<{ entries: { url: string }[] }>("network", {});
    expect(entries.map(({ url }) => url)).toContain(at("/held-form"));
    end();
    expect(await result("running")).toMatchObject({ status: "completed", title: "Form" });
    await warm;
    expect(await session.call("state")).toMatchObject({ ok: false, kind: "gone" });
  }, 180_000);

  test("from its first moment a job's preview is a picture, or says that the browser is still starting (rules/sessions#preview)", async () => {
    const warm = laneWarm(rig.peer, 0);
    const end = holdOpen("/held-start");
    const job = assign("starting", at("/held-start"), HELD);
    const session = callsOf(rig.peer, rig.sessions, job.session_id);
    await rig.peer.next("JobAccepted");
    const errors: unknown[] = [];
    let reply = await session.call("preview");
    for (; !reply.ok; reply = await session.call("preview")) errors.push(reply.error?.name);
    // A page that cannot be drawn in time is a timeout, as ever.
    const others = errors.filter((name) => name !== BROWSER_STARTING && name !== "TimeoutError");
    expect(others).toEqual([]);
    end();
    expect(await result("starting")).toMatchObject({ status: "completed" });
    await warm;
  }, 180_000);

  test("a file that a running job's page downloads can be read, and is an asset of the job too", async () => {
    const warm = laneWarm(rig.peer, 0);
    const job = assign("downloading", at("/pointer"), {
      settle_seconds: 600,
      max_wait_seconds: 600,
    });
    const session = callsOf(rig.peer, rig.sessions, job.session_id);
    await rig.peer.next("JobAccepted");
    const title = async () => (await session.call("state")).place?.title;
    await until("the page", 60_000, async () => (await title()) === "Pointer");
    await session.get("click", { selector: "#file", wait_for: "download" });
    const { content_base64 } = await session.get<{ content_base64: string }>("read_download");
    expect(Buffer.from(content_base64, "base64").toString()).toBe("a report");
    // The next attempt of a script must not take it for its own.
    await session.get("run_reset", { url: at("/pointer"), fresh: true, cookies: [] });
    expect(await session.get<unknown[]>("downloads")).toEqual([]);
    const isAsset = (path: string) =>
      /\/jobs\/downloading\/assets\/[^/]*report[^/]*\.txt$/.test(path);
    await until("the upload", 60_000, () => [...rig.hub.stored.keys()].some(isAsset));
    const { job_id, lease_token } = job;
    rig.peer.send({ type: "HubCancelJob", job_id, lease_token, reason: "seen enough" });
    await warm;
  }, 180_000);

  test("keep_session leaves the browser open; an attached job has its cookies and leaves it as it was", async () => {
    const job = assign("kept", at("/cookie"), { keep_session: true });
    expect(await result("kept")).toMatchObject({ status: "completed" });
    const session = callsOf(rig.peer, rig.sessions, job.session_id);
    const tabs = async () => (await session.get<Tab[]>("tabs")).map(({ url }) => url);
    expect(await tabs()).toEqual([at("/cookie")]);
    const { pid } = browserProcess(rig);

    const attached = assign("attached", at("/second"), {}, job.session_id);
    expect(await result("attached")).toMatchObject({ status: "completed", title: "Second" });
    const hit = site.hits.findLast(({ path }) => path === "/second");
    expect(hit?.headers.cookie).toBe("seen=yes");
    expect(
      [...rig.hub.stored.keys()].filter((path) => path.includes("/jobs/attached/")).length,
    ).toBeGreaterThan(0);
    await until("its tab is gone", 60_000, async () =>
      Bun.deepEquals(await tabs(), [at("/cookie")]),
    );
    expect(browserProcess(rig).pid).toBe(pid);
    expect(rig.sessions.get(job.session_id)?.lease_token).toBe(attached.lease_token);

    const warm = laneWarm(rig.peer, 0);
    const close = (lease_token: number) =>
      rig.peer.send({
        type: "HubCloseSession",
        session_id: job.session_id,
        lease_token,
        reason: "done with",
      });
    close(job.lease_token);
    expect(await session.call("state")).toMatchObject({ ok: true });
    close(attached.lease_token);
    await warm;
    expect(await session.call("state")).toMatchObject({ ok: false, kind: "gone" });
  }, 180_000);

  test("a kept browser that dies ends the session, and a job for a session that is gone is refused", async () => {
    const job = assign("dying", at("/"), { keep_session: true });
    await result("dying");
    const session = callsOf(rig.peer, rig.sessions, job.session_id);
    await session.get("evaluate", { code: "1" });
    const warm = laneWarm(rig.peer, 0);
    process.kill(browserProcess(rig).pid, "SIGKILL");
    const ended = await rig.peer.nextWhere(
      ["SessionEnded"],
      (frame) => frame.session_id === job.session_id && frame.reason.includes("browser ended"),
    );
    expect(ended.lease_token).toBe(job.lease_token);
    await warm;
    assign("late", at("/"), {}, job.session_id);
    expect((await rig.peer.next("JobRefused")).reason).toContain("session");
  }, 180_000);
});

describe("attach (rules/jobs#attach-to-a-running-browser)", () => {
  test("a job runs in a new tab of a browser that somebody else runs, and closes only that", async () => {
    const own = await rig.open({ lane_idx: 1, url: at("/cookie") });
    const own_port = new URL(browserProcess(rig).cdp_url).port;
    const [port, dir] = [freePort(), mkdtempSync(join(tmpdir(), "flotilla-attach-"))];
    const other = await chromium.launchPersistentContext(dir, {
      executablePath: chromiumPath(),
      args: [...CHROMIUM_FLAGS, `--remote-debugging-port=${port}`],
    });
    await other.pages()[0]?.goto(at("/cookie"));
    let warm = laneWarm(rig.peer, 0);
    assign("attach", at("/second"), { attach: String(port) });
    expect(await result("attach")).toMatchObject({ status: "completed", title: "Second" });
    expect(site.hits.findLast(({ path }) => path === "/second")?.headers.cookie).toBe("seen=yes");
    await until("the end of the job's tab", 60_000, () => other.pages().length === 1);
    expect(other.pages()[0]?.url()).toBe(at("/cookie"));
    await other.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    await warm;

    warm = laneWarm(rig.peer, 0);
    assign("own", at("/"), { attach: own_port });
    expect((await result("own")).error).toContain("own lanes");
    await warm;
    assign("nobody", at("/"), { attach: "127.0.0.1:1" });
    expect((await result("nobody")).error).toContain("nothing answers at 127.0.0.1:1");
    await own.close();
  }, 180_000);
});

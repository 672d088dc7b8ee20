import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import { dialCdp } from "#test/support/clients/cdp-client.ts";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  type HttpSession,
  type SessionFleet,
  startSessionFleet,
} from "#test/support/rigs/session-fleet.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import { MAX_PAGE_WINDOWS } from "#worker/browser/session/page-windows.ts";
import { ADDRESS_FLOODS, chosen, FLOODS, WINDOW_FLOODS } from "./lists/floods.ts";

/** A page that keeps its browser busy, in a lane of a real fleet: whoever works in the session goes on working. */

setDefaultTimeout(240_000);

const FLOOD = `for (let i = 0; i < ${2 * MAX_PAGE_WINDOWS}; i += 1) open("/window");`;
/** The page itself stands beside the windows. */
const MOST_TABS = MAX_PAGE_WINDOWS + 1;

let fleet: SessionFleet;
let site: SiteServer;
const floods = attempting(FLOODS);
/** Each look asks every window for its title. */
const LOOK_MS = 500;

beforeAll(async () => {
  site = await startServer("127.0.0.1");
  const page = (body: string) => ({
    mime: "text/html",
    bytes: Buffer.from(`<!doctype html><title>Page</title><body>${body}`),
  });
  site.body("/", page("page"));
  site.body("/window", page("window"));
  site.body("/opener", page(`<script>for (let i = 0; i < 4; i += 1) open("/opener")</script>`));
  site.body("/flood", page(`page<script>${FLOOD}</script>`));
  fleet = await startSessionFleet({ headless: false });
}, 180_000);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop();
}, 180_000);

let opened: HttpSession | null = null;
async function openPage(more: object = { headless: true }): Promise<HttpSession> {
  opened = await fleet.open({ url: `${site.origin}/`, ...more });
  return opened;
}
afterEach(async () => {
  await opened?.end();
  opened = null;
});
/** Nobody waits for its end: what is slow is Chromium. */
const flood = (session: HttpSession, code: string) =>
  session.act("evaluate", { code: `setTimeout(() => { ${code} }); 1`, timeout_s: 60 });
const tabsOf = async (session: HttpSession): Promise<string[]> => {
  const { status, body } = await session.act("tabs", { timeout_s: 60 });
  expect({ status, body: status === 200 ? null : body }).toEqual({ status: 200, body: null });
  return body.result.map(({ url }: { url: string }) => url);
};
/** All were opened, and what was too many is closed: twice in a row there are as many as there may be. */
async function settled(session: HttpSession): Promise<string[]> {
  let before: string[] = [];
  return until(
    "the windows",
    200_000,
    async () => {
      const tabs = await tabsOf(session);
      const stands = tabs.length === MOST_TABS && before.length === MOST_TABS;
      before = tabs;
      return stands ? tabs : null;
    },
    LOOK_MS,
  );
}
const goesOn = async (session: HttpSession): Promise<void> => {
  const { status } = await session.act("navigate", { url: `${site.origin}/?after`, timeout_s: 60 });
  const { body } = await session.act("text", { selector: "body", timeout_s: 60 });
  expect({ status, text: body?.result }).toEqual({ status: 200, text: "page" });
};

test.each(chosen(WINDOW_FLOODS))(
  "a session goes on, with a bounded number of windows, after %s",
  async (name, code) => {
    const session = await openPage();
    expect(await flood(session, code)).toMatchObject({ status: 200 });
    await settled(session);
    await goesOn(session);
    expect((await tabsOf(session)).length).toBeLessThanOrEqual(MOST_TABS);
    floods.refused(name);
  },
);

test("everybody who asks for a tab gets one despite the windows of a flood: an action, a CDP client, and the person in the viewer", async () => {
  const session = await openPage({ headless: false });
  await flood(session, FLOOD);
  await settled(session);

  expect(await session.act("tab", { op: "new", url: `${site.origin}/?action` })).toMatchObject({
    status: 200,
  });
  const client = await dialCdp(session.cdp_url);
  const url = `${site.origin}/?client`;
  const made = await client.send("Target.createTarget", { url });
  expect(made.result.targetId).toBeString();
  await until("the client's page", 60_000, async () => (await tabsOf(session)).includes(url));

  const before = (await tabsOf(session)).length;
  const viewer = await connectRfb(`${session.url.replace(/^http/, "ws")}/novnc/websockify`);
  viewer.withControl("t");
  await until(
    "the person's tab",
    60_000,
    async () => (await tabsOf(session)).length === before + 1,
  );
  viewer.type(`${site.origin}/?person`);
  viewer.press("Enter");
  await until("the person's page", 60_000, async () =>
    (await tabsOf(session)).includes(`${site.origin}/?person`),
  );
  await viewer.close();

  // A page's next window is one too many as before.
  await session.act("evaluate", { code: `open("/window"); 1`, timeout_s: 60 });
  const tabs = await until("the end of one window too many", 60_000, async () => {
    const now = await tabsOf(session);
    return now.length === before + 1 ? now : null;
  });
  expect(tabs.filter((tab) => tab.endsWith("/window"))).toHaveLength(MAX_PAGE_WINDOWS);
  expect(tabs).toContain(`${site.origin}/?action`);
  expect(tabs).toContain(url);
  client.close();
});

test("a job on a page that floods is captured, and its log says once that windows are closed", async () => {
  const hub = fleet.url;
  const read = async <T>(path: string, init?: RequestInit) =>
    (await (await fetch(hub + path, init)).json()) as T;
  const { job_id } = await read<Job>("/jobs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ url: `${site.origin}/flood`, options: { headless: true } }),
  });
  const job = await until("the end of the job", 200_000, async () => {
    const record = await read<Job>(`/jobs/${job_id}`);
    return ["queued", "running"].includes(record.status) ? null : record;
  });
  expect(job).toMatchObject({ status: "completed", error: null });
  const log = await (await fetch(`${hub}/jobs/${job_id}/log.txt`)).text();
  expect(log.match(/.*windows.*/g)).toEqual([
    expect.stringContaining(`pages opened more than ${MAX_PAGE_WINDOWS} windows`),
  ]);
});

test.each(chosen(ADDRESS_FLOODS))(
  "a session goes on after 10,000 changes of %s",
  async (name, code) => {
    const session = await openPage();
    expect(await flood(session, code)).toMatchObject({ status: 200 });
    await goesOn(session);
    floods.refused(name);
  },
);

test("every flood was tried", () => {
  expect(floods.left()).toEqual([]);
});

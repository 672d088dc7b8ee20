import { afterEach, expect, test } from "bun:test";
import { retainJobsOnce } from "#hub/fleet/jobs/retention.ts";
import { endLostSessions, recordCounts } from "#hub/fleet/sessions/past.ts";
import { PLACE_BEAT_MS } from "#hub/fleet/sessions/places.ts";
import { emptyIndex } from "#shared/recording/index-of.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** What remains of a session when it has ended (rules/sessions#past-sessions). */

let hub: TestHub;
afterEach(() => hub?.close());

const start = async (options: TestHubOptions = {}) => {
  hub = await startTestHub(options);
  return hub.worker({ lanes: 3 });
};
const open = async (body: object = {}, headers?: Record<string, string>): Promise<string> => {
  const init = headers && { headers };
  const { status, body: session, text } = await hub.call("POST", "/sessions", body, init);
  expect({ status, text }).toMatchObject({ status: 201 });
  return session.session_id;
};
const close = async (sid: string) =>
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
const ended = async (query = "", init?: RequestInit) =>
  (await hub.call("GET", `/sessions?status=ended${query}`, undefined, init)).body;

test("a session that has ended is listed with who opened it, for how long, and why it ended", async () => {
  await start();
  const sid = await open();
  expect((await ended()).sessions).toEqual([]);
  for (const code of ["1", "2"]) await hub.call("POST", `/sessions/${sid}/evaluate`, { code });
  const { body: active } = await hub.call("GET", "/sessions");
  expect(active.sessions).toMatchObject([{ session_id: sid, state: "active" }]);
  await close(sid);
  const { sessions, next_cursor } = await ended();
  expect(next_cursor).toBeNull();
  expect(sessions).toMatchObject([
    {
      session_id: sid,
      state: "ended",
      opened_by: "open",
      job_id: null,
      actions: 2,
      end_reason: "it was deleted",
    },
  ]);
  const [{ created_at, ended_at, duration_ms }] = sessions;
  expect(Date.parse(ended_at) - Date.parse(created_at)).toBe(duration_ms);
  expect((await hub.call("GET", "/sessions")).body.sessions).toEqual([]);
  // Its own addresses stay 404 (rules/sessions#ended-sessions-are-404).
  expect((await hub.call("GET", `/sessions/${sid}`)).status).toBe(404);
});

test("open and ended ones are narrowed by a worker and by a part of their address or title", async () => {
  const { worker_id } = await start();
  const shop = await open({ url: "http://shop.test/a" });
  const news = await open({ url: "http://news.test/" });
  const found = async (query: string) => {
    const { body } = await hub.call("GET", `/sessions?${query}`);
    return body.sessions.map((one: { session_id: string }) => one.session_id);
  };
  const both = async (status: string) => {
    expect(await found(`status=${status}&q=SHOP.test`)).toEqual([shop]);
    expect(await found(`status=${status}&q=test&worker_id=${worker_id}`)).toHaveLength(2);
    expect(await found(`status=${status}&worker_id=another`)).toEqual([]);
  };
  await both("active");
  await close(shop);
  await close(news);
  await both("ended");
  const first = await ended("&q=test&limit=1");
  expect(first.sessions).toMatchObject([{ session_id: news }]);
  const second = await ended(`&q=test&limit=1&cursor=${first.next_cursor}`);
  expect(second.sessions).toMatchObject([{ session_id: shop }]);
});

test("pages hold each once, the last to end first; the cursor of another list is 422", async () => {
  await start();
  const sids: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    const sid = await open();
    await close(sid);
    sids.unshift(sid);
  }
  const seen: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await ended(`&limit=2${cursor}`);
    seen.push(...page.sessions.map((one: { session_id: string }) => one.session_id));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(seen.toSorted()).toEqual(sids.toSorted());
  expect((await hub.call("GET", "/sessions?status=ended&cursor=MTIz")).status).toBe(422);
  expect((await hub.call("GET", "/sessions?status=gone")).status).toBe(422);
});

test("the name of the token it was opened with is told, and nothing of the token", async () => {
  const env = { SVC_API_TOKEN: "t0ken-of-the-test", SVC_ADMIN_PASSWORD: "password-of-the-test" };
  await start({ env });
  const owner = { authorization: "Bearer t0ken-of-the-test" };
  const admin = { ...owner, "x-admin-password": "password-of-the-test" };
  const asked = { name: "ann's laptop", role: "operator" };
  const { body: made } = await hub.call("POST", "/tokens", asked, { headers: admin });
  const ann = { authorization: `Bearer ${made.token}` };
  const sid = await open({}, ann);
  await hub.call("DELETE", `/sessions/${sid}`, undefined, { headers: ann });
  const answer = await ended("", { headers: owner });
  expect(answer.sessions).toMatchObject([{ session_id: sid, opened_by: "ann's laptop" }]);
  expect(JSON.stringify(answer)).not.toContain(made.token);
});

test("its small picture is shown to whoever may see its recording (rules/recordings#the-small-picture-of-a-session)", async () => {
  const env = { SVC_API_TOKEN: "t0ken-of-the-test", SVC_ADMIN_PASSWORD: "password-of-the-test" };
  await start({ env, alone: true });
  const headers = { authorization: "Bearer t0ken-of-the-test" };
  const admin = { ...headers, "x-admin-password": "password-of-the-test" };
  const sid = await open({}, headers);
  await hub.call("DELETE", `/sessions/${sid}`, undefined, { headers });
  const run_id = `s-${sid}`;
  await hub.ctx.db.recordings.begin({
    run_id,
    job_id: null,
    session_id: sid,
    mode: "screen",
    state: "whole",
    started_at: 1,
    ended_at: hub.ctx.clock.now(),
    sealed: 0,
    body_bytes: 0,
    has_screen: true,
    parts: [],
    contents: emptyIndex(),
  });
  await hub.ctx.objects.put(`recordings/${run_id}/thumbnail.webp`, Buffer.from("RIFF"));
  const [{ thumbnail_href: href }] = (await ended("", { headers })).sessions;
  expect(href).toBe(`/sessions/${sid}/thumbnail.webp`);
  const asked = { name: "a visitor", role: "viewer" };
  const { body: viewer } = await hub.call("POST", "/tokens", asked, { headers: admin });
  const shown = await hub.call("GET", href, undefined, {
    headers: { authorization: `Bearer ${viewer.token}` },
  });
  expect([shown.status, shown.text]).toEqual([200, "RIFF"]);
  expect((await hub.call("GET", href)).status).toBe(401);
});

test("a session whose worker is gone has that as its reason", async () => {
  const worker = await start();
  const sid = await open();
  await worker.close();
  const [record] = await until("the record of the session", 60_000, async () => {
    const { sessions } = await ended();
    return sessions.length > 0 && sessions;
  });
  expect(record).toMatchObject({ session_id: sid });
  expect(record.end_reason).toContain("its worker is gone");
});

test("what a killed hub left open ends once no hub has it; open sessions and young records stay", async () => {
  await start({ alone: true });
  const { ctx } = hub;
  const sid = await open();
  const record = {
    kind: "sdk" as const,
    job_id: null,
    worker_id: "gone",
    lane_idx: 0,
    opened_by: "ann",
    headless: false,
    url: "http://site.test/",
    title: "Site",
  };
  const now = ctx.clock.now();
  await ctx.db.sessions.open({ ...record, session_id: "lost", created_at: now - 600_000 });
  await ctx.db.sessions.open({ ...record, session_id: "young", created_at: now });
  await endLostSessions(ctx);
  const { sessions } = await ended();
  expect(sessions).toMatchObject([{ session_id: "lost", opened_by: "ann", title: "Site" }]);
  expect(sessions[0].end_reason).toContain("its hub was lost");
  await close(sid);
  expect((await ended()).sessions).toHaveLength(2);
});

test("the actions of a session whose hub was killed are those until its last beat", async () => {
  const clock = createFakeClock();
  await start({ alone: true, clock });
  const { ctx } = hub;
  const sid = await open();
  const act = () => hub.call("POST", `/sessions/${sid}/evaluate`, { code: "1" });
  for (let n = 0; n < 3; n += 1) await act();
  await clock.advance(PLACE_BEAT_MS);
  await until("the count", 60_000, async () => (await ctx.db.sessions.get(sid))?.actions === 3);
  await recordCounts(ctx);
  await act();
  await close(sid);
  const { sessions } = await ended();
  expect(sessions).toMatchObject([{ session_id: sid, actions: 4 }]);
});

test("records are deleted after retention_days, as jobs are (rules/jobs#retention)", async () => {
  await start({ alone: true });
  const sid = await open();
  await close(sid);
  const { ctx } = hub;
  await ctx.db.sessions.open({
    session_id: "old",
    kind: "sdk",
    job_id: null,
    worker_id: "w",
    lane_idx: 0,
    opened_by: null,
    headless: true,
    created_at: 1,
    url: "",
    title: "",
  });
  const long_ago = ctx.clock.now() - 3 * 86_400_000;
  const end = { ended_at: long_ago, end_reason: "idle", url: "", title: "", actions: 0 };
  await ctx.db.sessions.end("old", end);
  await retainJobsOnce(ctx);
  expect((await ended()).sessions).toHaveLength(2);
  expect((await hub.call("PATCH", "/settings", { retention_days: 2 })).status).toBe(200);
  await retainJobsOnce(ctx);
  expect((await ended()).sessions).toMatchObject([{ session_id: sid }]);
});

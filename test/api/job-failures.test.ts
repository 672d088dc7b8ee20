import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const call = (method: string, path: string, body?: unknown) => hub.call(method, path, body);

/** Jobs of a host that ended with these errors, by the paths of their URLs. */
async function failJobs(host: string, errors: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  for (const [path, error] of Object.entries(errors)) {
    const sent = { url: `http://${host}/${path}`, options: { idle_seconds: 1 } };
    const init = { headers: { prefer: "respond-async" } };
    const { job_id } = (await hub.call("POST", "/jobs", sent, init)).body;
    const end = { status: "failed" as const, error, now: hub.ctx.clock.now() };
    expect(await hub.ctx.db.jobs.finishQueued(job_id, end)).not.toBeNull();
    ids.push(job_id);
  }
  return ids;
}
const NO_HOST = (host: string) =>
  `could not open http://${host}/: the host name ${host} does not exist (net::ERR_NAME_NOT_RESOLVED)`;
const SOME = (host: string) => ({
  one: NO_HOST(host),
  two: NO_HOST(`www.${host}`),
  three: "the page did not come to rest within 30 s",
});

interface Group {
  fingerprint: string;
  kind: string;
}
const groupsOf = async (host: string, more = ""): Promise<Group[]> =>
  (await call("GET", `/jobs/failures?host=${host}${more}`)).body.items;
const groupOf = async (host: string): Promise<string> =>
  (await groupsOf(host)).find((one) => one.kind === "ERR_NAME_NOT_RESOLVED")?.fingerprint ?? "";

describe("GET /jobs/failures (rules/failures#groups)", () => {
  test("failed jobs that differ only in a host are one group, with its hosts and its newest job", async () => {
    const ids = await failJobs("a.invalid", SOME("a.invalid"));
    const { body } = await call("GET", "/jobs/failures?host=a.invalid&sort=count&buckets=2");
    expect(body).toMatchObject({ complete: true, next_cursor: null, bucket_s: 43_200 });
    expect(body.items).toMatchObject([
      {
        kind: "ERR_NAME_NOT_RESOLVED",
        count: 2,
        trend: [0, 2],
        hosts: ["a.invalid"],
        example: { job_id: ids[1], href: `/jobs/${ids[1]}`, url: "http://a.invalid/two" },
      },
      { kind: "Error", message: "the page did not come to rest within ‹n› s", count: 1 },
    ]);
    const { fingerprint } = body.items[0];
    const listed = await call("GET", `/jobs?fingerprint=${fingerprint}`);
    expect(listed.body.jobs.map((job: { job_id: string }) => job.job_id)).toEqual([ids[1], ids[0]]);
    expect((await call("GET", `/jobs/${ids[0]}`)).body).toMatchObject({
      fingerprint,
      retried_as: null,
    });
  });

  test("filters narrow one another, and pages follow one another", async () => {
    await failJobs("b.invalid", SOME("b.invalid"));
    expect(await groupsOf("b.invalid", "&text=COME%20to%20rest")).toMatchObject([{ count: 1 }]);
    expect(await groupsOf("b.invalid", "&worker=w1")).toEqual([]);
    expect(await groupsOf("b.invalid", `&fingerprint=${await groupOf("b.invalid")}`)).toHaveLength(
      1,
    );
    expect(await groupsOf("b.invalid", "&until=2020-01-01T00:00:00Z")).toEqual([]);
    const first = (await call("GET", "/jobs/failures?host=b.invalid&sort=count&limit=1")).body;
    const rest = `/jobs/failures?host=b.invalid&sort=count&limit=1&cursor=${first.next_cursor}`;
    expect((await call("GET", rest)).body).toMatchObject({
      items: [{ count: 1 }],
      next_cursor: null,
    });
    expect((await call("GET", "/jobs/failures?cursor=nope")).status).toBe(422);
  });
});

describe("acting on jobs (rules/failures#acting-on-jobs)", () => {
  test("a preview changes nothing; each job is submitted again once, with its options, and names the new one", async () => {
    const ids = await failJobs("c.invalid", SOME("c.invalid"));
    const asked = { host: "c.invalid", fingerprint: await groupOf("c.invalid") };
    const preview = await call("POST", "/jobs/retry", { ...asked, dry_run: true });
    expect(preview.body).toMatchObject({ dry_run: true, matched: 2, changed: 0, complete: true });
    expect(preview.body.examples).toContainEqual({
      job_id: ids[0],
      url: "http://c.invalid/one",
      status: "failed",
    });
    expect((await call("GET", "/jobs?host=c.invalid&status=queued")).body.jobs).toEqual([]);
    const done = await call("POST", "/jobs/retry", asked);
    expect(done.body).toMatchObject({ matched: 2, changed: 2, moved_on: 0, refused: 0 });
    const { retried_as } = (await call("GET", `/jobs/${ids[0]}`)).body;
    const again = (await call("GET", `/jobs/${retried_as}`)).body;
    expect(again).toMatchObject({
      status: "queued",
      url: "http://c.invalid/one",
      options: { idle_seconds: 1 },
    });
    expect((await call("POST", "/jobs/retry", asked)).body).toMatchObject({
      matched: 0,
      changed: 0,
    });
    expect((await call("GET", "/jobs?host=c.invalid&status=queued")).body.jobs).toHaveLength(2);
  });

  test("a job that is retried keeps its labels, so that the same list finds it (rules/failures#acting-on-jobs)", async () => {
    const [first] = await failJobs("g.invalid", { one: "no" });
    const labels = { team: "retried", ticket: "OPS-41" };
    await call("PATCH", `/jobs/${first}`, { labels });
    await call("POST", "/jobs/retry", { label: "team:retried" });
    const { retried_as } = (await call("GET", `/jobs/${first}`)).body;
    const listed = (await call("GET", "/jobs?label=team:retried&status=queued")).body.jobs;
    expect(listed).toMatchObject([{ job_id: retried_as, labels }]);
  });

  test("of two retries of one job at a time, one submits it (rules/failures#acting-on-jobs)", async () => {
    await failJobs("d.invalid", { one: "no" });
    const ends = await Promise.all(
      [1, 2, 3].map(() => call("POST", "/jobs/retry", { host: "d.invalid" })),
    );
    const sum = ends.reduce((all, { body }) => all + body.changed, 0);
    expect(sum).toBe(1);
    expect((await call("GET", "/jobs?host=d.invalid&status=queued")).body.jobs).toHaveLength(1);
  });

  test("a job whose proxy had a login is refused, and the answer says why", async () => {
    const proxy = { server: "http://proxy.invalid:3128", username: "u", password: "p" };
    const sent = { url: "http://e.invalid/", options: { proxy } };
    const init = { headers: { prefer: "respond-async" } };
    const { job_id } = (await hub.call("POST", "/jobs", sent, init)).body;
    await hub.ctx.db.jobs.finishQueued(job_id, {
      status: "failed",
      error: "no",
      now: hub.ctx.clock.now(),
    });
    const { body } = await call("POST", "/jobs/retry", { host: "e.invalid" });
    expect(body).toMatchObject({ matched: 1, changed: 0, refused: 1 });
    expect(body.refusals).toEqual([
      { job_id, reason: expect.stringContaining("login of its proxy") },
    ]);
  });

  test("cancel takes what has not ended, delete what failed, and completed ones only when they are named", async () => {
    await failJobs("f.invalid", { one: "no", two: "no" });
    const sent = { url: "http://f.invalid/waits" };
    await hub.call("POST", "/jobs", sent, { headers: { prefer: "respond-async" } });
    const act = async (action: string, body: unknown) =>
      (await call("POST", `/jobs/${action}`, body)).body;
    expect(await act("cancel", { host: "f.invalid" })).toMatchObject({ matched: 1, changed: 1 });
    expect(await act("delete", { host: "f.invalid", dry_run: true })).toMatchObject({ matched: 2 });
    expect(await act("delete", { host: "f.invalid" })).toMatchObject({ matched: 2, changed: 2 });
    const left = (await call("GET", "/jobs?host=f.invalid")).body.jobs;
    expect(left).toMatchObject([{ status: "cancelled", fingerprint: null }]);
    expect(await act("delete", { host: "f.invalid", status: "cancelled" })).toMatchObject({
      changed: 1,
    });
  });

  test("without a filter, and with a state that the action is not for, the call is refused", async () => {
    for (const action of ["retry", "cancel", "delete"])
      expect((await call("POST", `/jobs/${action}`, { dry_run: true })).status).toBe(422);
    expect((await call("POST", "/jobs/retry", { status: "running" })).status).toBe(422);
    // All that failed: that needs the number that a preview named.
    expect((await call("POST", "/jobs/delete", { status: "failed" })).status).toBe(422);
    const none = await call("POST", "/jobs/delete", { status: "failed", at_most: 0 });
    expect([none.status, none.text.includes("at_most allows 0")]).toEqual([409, true]);
    expect((await call("POST", "/jobs/cancel", { status: "failed" })).status).toBe(422);
    expect((await call("POST", "/jobs/cancel", { hosts: "x" })).status).toBe(422);
  });
});

import { describe, expect, test } from "bun:test";
import type { JobRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { fingerprintOf } from "#hub/platform/failures/fingerprint.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import { claimOf, eachDialect, jobRow } from "#test/support/servers/db.ts";
import { END, insertJobs, running, times } from "#test/support/servers/stored-jobs.ts";

const FAILED = { status: "failed", error: "broke", now: 1_700_000_300_000 } as const;
const GONE = {
  status: "failed",
  error: "gone",
  fingerprint: fingerprintOf("gone"),
  finished_at: END.now,
} as const;
const winners = (rows: (JobRow | null)[]) => rows.filter((row) => row !== null);

const begin = (db: Db, now: number) =>
  db.idempotency.begin({
    key: "k",
    fingerprint: "print",
    owner: "me",
    now,
    monotonic: now,
    lease_ms: 60_000,
  });

eachDialect((open) => {
  describe("a stored job", () => {
    test("comes back as it was inserted, with every kind of value", async () => {
      const db = await open();
      const row = jobRow({
        url: "https://example.com/ü?q=%00",
        title: "quotes ' \" and 漢字 🎉",
        asset_bytes: Number.MAX_SAFE_INTEGER,
        lease_token: 1_700_000_000_000_123,
        capture: {
          seen: 3,
          captured: 2,
          partial: 1,
          lost: 0,
          skipped: 0,
          ratio: 2 / 3,
          reasons: { evicted: 1 },
          method: "durable",
        } satisfies CaptureReport,
      });
      await db.jobs.insert(row);
      expect(await db.jobs.get(row.job_id)).toEqual(row);
      expect(await db.jobs.get("nope")).toBeNull();
    });

    test("may hold text that no database takes as it is: NUL and half a surrogate pair become U+FFFD", async () => {
      const db = await open();
      const row = jobRow({ title: "a\u0000b\ud800c", host: "x\u0000" });
      await db.jobs.insert(row);
      expect((await db.jobs.get(row.job_id))?.title).toBe("a\ufffdb\ufffdc");
      expect(await db.jobs.list({ limit: 10, host: "x\u0000" }, null)).toHaveLength(1);
      expect(await db.jobs.list({ limit: 10, q: "\u0000" }, null)).toHaveLength(0);
    });
  });

  describe("a job under an Idempotency-Key (rules/http#idempotency-keys)", () => {
    const answer = (job_id: string) => ({ status: 0, body: { job_id }, headers: {} });
    const keyed = (row: JobRow, key: string) => ({
      key: { key, owner: "me", answer: answer(row.job_id) },
      attempt: null,
    });

    test("is stored together with the key's answer", async () => {
      const db = await open();
      const row = jobRow({ idempotency_key: "k", title: "quotes ' and 漢字" });
      await begin(db, 1);
      expect(await db.jobs.insertWith(row, keyed(row, "k"))).toBe(true);
      expect(await db.jobs.get(row.job_id)).toEqual(row);
      expect((await begin(db, 2))?.answer).toEqual(answer(row.job_id));
    });

    test("is made once, however many calls believe that the key is theirs", async () => {
      const db = await open();
      await begin(db, 1);
      const rows = times(20).map(() => jobRow({ idempotency_key: "k" }));
      const made = await Promise.all(rows.map((row) => db.jobs.insertWith(row, keyed(row, "k"))));
      const [winner, ...others] = rows.filter((_, i) => made[i]);
      expect(others).toEqual([]);
      expect(await db.jobs.list({ limit: 50 }, null)).toEqual([winner as JobRow]);
      expect((await begin(db, 2))?.answer).toEqual(answer(winner?.job_id ?? ""));
    });

    test("is not made when the key was given back meanwhile", async () => {
      const db = await open();
      const row = jobRow({ idempotency_key: "gone" });
      expect(await db.jobs.insertWith(row, keyed(row, "gone"))).toBe(false);
      expect(await db.jobs.get(row.job_id)).toBeNull();
    });
  });

  describe("claim (one conditional update, one winner: rules/jobs#two-hubs-and-one-job)", () => {
    test("of 30 claims of one job one wins, and the row carries the winner's lane", async () => {
      const db = await open();
      const [job] = await insertJobs(db, [jobRow()]);
      const id = job?.job_id ?? "";
      const won = winners(
        await Promise.all(times(30).map((i) => db.jobs.claim(claimOf(id, i + 1, `w${i}`)))),
      );
      expect(won).toHaveLength(1);
      expect(await db.jobs.get(id)).toEqual(won[0] ?? null);
      expect(won[0]).toMatchObject({ status: "running", started_at: claimOf(id).now, lane_idx: 0 });
    });

    test("of a job that runs, ended or does not exist gives null", async () => {
      const db = await open();
      const job = await running(db);
      expect(await db.jobs.claim(claimOf(job.job_id, 2))).toBeNull();
      await db.jobs.finish(job.job_id, 1, END);
      expect(await db.jobs.claim(claimOf(job.job_id, 2))).toBeNull();
      expect(await db.jobs.claim(claimOf("nope", 2))).toBeNull();
    });

    test("against cancelling the queued job: one of both wins", async () => {
      const db = await open();
      for (const round of times(20)) {
        const [job] = await insertJobs(db, [jobRow()]);
        const id = job?.job_id ?? "";
        const cancel = () => db.jobs.finishQueued(id, { ...END, status: "cancelled" });
        const claim = () => db.jobs.claim(claimOf(id));
        const calls = round % 2 === 0 ? [claim(), cancel()] : [cancel(), claim()];
        expect(winners(await Promise.all(calls))).toHaveLength(1);
      }
    });
  });

  describe("unclaim (an assignment that was not sent is reverted: rules/scheduling#assignments-taken-back)", () => {
    test("gives the job back as it was queued", async () => {
      const db = await open();
      const [job] = await insertJobs(db, [jobRow()]);
      const id = job?.job_id ?? "";
      await db.jobs.claim(claimOf(id, 5));
      await db.jobs.setStage(id, 5, "lane");
      expect(await db.jobs.unclaim(id, 5)).toEqual(job ?? null);
      expect(await db.jobs.claim(claimOf(id, 6))).toMatchObject({ lease_token: 6 });
    });

    test("under another lease changes nothing", async () => {
      const db = await open();
      const job = await running(db, 5);
      expect(await db.jobs.unclaim(job.job_id, 4)).toBeNull();
      expect(await db.jobs.get(job.job_id)).toEqual(job);
    });

    test("against finish: one of both wins", async () => {
      const db = await open();
      for (const round of times(20)) {
        const { job_id } = await running(db);
        const calls = [() => db.jobs.unclaim(job_id, 1), () => db.jobs.finish(job_id, 1, END)];
        if (round % 2 === 1) calls.reverse();
        expect(winners(await Promise.all(calls.map((call) => call())))).toHaveLength(1);
      }
    });
  });

  describe("finish", () => {
    test("writes the outcome, keeps what it is not told, and leaves the lease on the row", async () => {
      const db = await open();
      const job = await running(db, 9);
      await db.jobs.setStage(job.job_id, 9, "idle");
      const done = await db.jobs.finish(job.job_id, 9, {
        ...END,
        http_status: 404,
        title: "Not here",
      });
      expect(done).toEqual({
        ...job,
        status: "completed",
        stage: "idle",
        http_status: 404,
        title: "Not here",
        finished_at: END.now,
      });
    });

    test("with a stale token is refused and changes nothing", async () => {
      const db = await open();
      const { job_id } = await running(db, 1);
      await db.jobs.unclaim(job_id, 1);
      const current = await db.jobs.claim(claimOf(job_id, 2));
      expect(await db.jobs.finish(job_id, 1, END)).toBeNull();
      expect(await db.jobs.get(job_id)).toEqual(current);
    });

    test("of 20 with different ends one wins and the row shows its end", async () => {
      const db = await open();
      const { job_id } = await running(db);
      const ends = times(20).map((i) =>
        db.jobs.finish(job_id, 1, { ...FAILED, error: `error ${i}` }),
      );
      const won = winners(await Promise.all(ends));
      expect(won).toHaveLength(1);
      expect((await db.jobs.get(job_id))?.error).toBe(won[0]?.error ?? "");
    });

    test("a queued job cannot be finished under a lease, nor a running one as queued", async () => {
      const db = await open();
      const [queued] = await insertJobs(db, [jobRow()]);
      expect(await db.jobs.finish(queued?.job_id ?? "", 1, END)).toBeNull();
      const { job_id } = await running(db);
      expect(await db.jobs.finishQueued(job_id, FAILED)).toBeNull();
      expect((await db.jobs.get(job_id))?.status).toBe("running");
    });

    test("of a queued job by timeout and by cancel at once: one wins", async () => {
      const db = await open();
      const [job] = await insertJobs(db, [jobRow()]);
      const id = job?.job_id ?? "";
      const calls = times(10).map((i) => db.jobs.finishQueued(id, { ...FAILED, error: `e${i}` }));
      expect(winners(await Promise.all(calls))).toHaveLength(1);
    });

    test("setStage under a stale token changes nothing", async () => {
      const db = await open();
      const job = await running(db, 2);
      await db.jobs.setStage(job.job_id, 1, "page");
      expect(await db.jobs.get(job.job_id)).toEqual(job);
    });
  });

  describe("failing what ran (disconnect, hub start: rules/jobs#lost-workers)", () => {
    test("failRunningOf fails the running jobs of that worker only, and returns them", async () => {
      const db = await open();
      const mine = await running(db, 1);
      const done = await running(db, 2);
      await db.jobs.finish(done.job_id, 2, END);
      const [queued] = await insertJobs(db, [jobRow()]);
      const other = jobRow();
      await db.jobs.insert(other);
      await db.jobs.claim(claimOf(other.job_id, 3, "w99"));
      const failed = await db.jobs.failRunningOf("w10", "gone", END.now);
      expect(failed).toEqual([{ ...mine, ...GONE }]);
      expect((await db.jobs.get(done.job_id))?.status).toBe("completed");
      expect((await db.jobs.get(queued?.job_id ?? ""))?.status).toBe("queued");
      expect((await db.jobs.get(other.job_id))?.status).toBe("running");
    });

    test("a job whose end was told with a time before its beginning ends when it began", async () => {
      const db = await open();
      const later = { created_at: END.now, started_at: null };
      const queued = jobRow(later);
      await db.jobs.insert(queued);
      const early = { ...END, now: END.now - 3_600_000 };
      expect((await db.jobs.finishQueued(queued.job_id, early))?.finished_at).toBe(END.now);
      const one = await running(db, 1, later);
      expect(one.started_at).toBe(END.now);
      expect((await db.jobs.finish(one.job_id, 1, early))?.finished_at).toBe(END.now);
      const two = await running(db, 2, later);
      const whole = { http_status: 200, final_url: "u", title: "t", stage: "done", capture: null };
      expect((await db.jobs.finish(two.job_id, 2, { ...early, ...whole }))?.finished_at).toBe(
        END.now,
      );
      await running(db, 3, later);
      const failed = await db.jobs.failRunningOf("w10", "gone", early.now);
      expect(failed.map((row) => row.finished_at)).toEqual([END.now]);
    });

    test("failRunningUnder fails what runs under those leases of that worker, and nothing else", async () => {
      const db = await open();
      const mine = await running(db, 1);
      await running(db, 2);
      const newer = jobRow();
      await db.jobs.insert(newer);
      await db.jobs.claim(claimOf(newer.job_id, 3, "w99"));
      const ended = await running(db, 4);
      await db.jobs.finish(ended.job_id, 4, END);
      const under = (tokens: number[]) =>
        db.jobs.failRunningUnder({ hub_id: "hub-1", worker_id: "w10", tokens }, "gone", END.now);
      expect(await under([])).toEqual([]);
      expect(await under([1, 3, 4, 77])).toEqual([{ ...mine, ...GONE }]);
      expect((await db.jobs.get(newer.job_id))?.status).toBe("running");
    });

    test("of a hub that takes a job up and one that fails it exactly one wins (rules/jobs#hub-restarts)", async () => {
      const db = await open();
      const outcomes = await Promise.all(
        times(20).map(async (i) => {
          const { job_id } = await running(db, i + 1);
          const leases = { hub_id: "hub-1", worker_id: "w10", tokens: [i + 1] };
          const [taken, failed] = await Promise.all([
            db.jobs.takeUp(job_id, i + 1, "hub-2"),
            db.jobs.failRunningUnder(leases, "gone", END.now),
          ]);
          expect(failed).toHaveLength(taken === null ? 1 : 0);
          const row = await db.jobs.get(job_id);
          expect(row).toMatchObject(
            taken === null ? { status: "failed" } : { status: "running", hub_id: "hub-2" },
          );
          return row;
        }),
      );
      expect(outcomes).toHaveLength(20);
      const { job_id } = await running(db, 50);
      expect(await db.jobs.takeUp(job_id, 49, "hub-2")).toBeNull();
      await db.jobs.takeUp(job_id, 50, "hub-2");
      const late = { hub_id: "hub-1", worker_id: "w10", tokens: [50] };
      expect(await db.jobs.failRunningUnder(late, "gone", END.now)).toEqual([]);
      expect(await db.jobs.unclaim(job_id, 50)).toMatchObject({ hub_id: null });
    });

    test("runningAmong names the leases of those that run", async () => {
      const db = await open();
      const one = await running(db, 1_700_000_000_000_123);
      const ended = await running(db, 2);
      await db.jobs.finish(ended.job_id, 2, END);
      const [queued] = await insertJobs(db, [jobRow()]);
      const ids = [one.job_id, ended.job_id, queued?.job_id ?? "", "unknown"];
      expect(await db.jobs.runningAmong(ids)).toEqual([
        { job_id: one.job_id, lease_token: 1_700_000_000_000_123 },
      ]);
      expect(await db.jobs.runningAmong([])).toEqual([]);
    });

    test("failRunningOf against finish: every job ends once", async () => {
      const db = await open();
      const jobs = await Promise.all(times(10).map((i) => running(db, i + 1)));
      const [failed, ...finished] = await Promise.all([
        db.jobs.failRunningOf("w10", "gone", END.now),
        ...jobs.map((job, i) => db.jobs.finish(job.job_id, i + 1, END)),
      ]);
      expect((failed as JobRow[]).length + winners(finished as (JobRow | null)[]).length).toBe(10);
    });

    test("failAllRunning fails every running job and nothing else", async () => {
      const db = await open();
      await running(db, 1);
      await running(db, 2);
      const [queued] = await insertJobs(db, [jobRow()]);
      expect((await db.jobs.failAllRunning("hub restart", 5)).map((job) => job.status)).toEqual([
        "failed",
        "failed",
      ]);
      expect(await db.jobs.failAllRunning("hub restart", 6)).toEqual([]);
      expect((await db.jobs.get(queued?.job_id ?? ""))?.status).toBe("queued");
    });
  });
});

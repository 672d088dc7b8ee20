import { expect, test } from "bun:test";
import type { FinishJob } from "#hub/platform/db/fleet-types.ts";
import { claimOf, eachDialect, jobRow } from "#test/support/servers/db.ts";

/** Statements of many jobs at once decide each of them as a statement of its own would (rules/scheduling#large-fleets). */

const END: FinishJob = {
  status: "completed",
  error: null,
  now: 1_700_000_200_000,
  stage: "done",
  http_status: 200,
  final_url: "https://example.com/ü",
  title: "a\u0000b\ud800c 漢字 🎉",
  capture: {
    seen: 1,
    captured: 1,
    partial: 0,
    lost: 0,
    skipped: 0,
    ratio: 1,
    reasons: {},
    method: "durable",
  },
};

eachDialect((open) => {
  test("thirty jobs inserted, claimed, told of and finished side by side are thirty jobs (rules/scheduling#large-fleets)", async () => {
    const db = await open();
    const rows = Array.from({ length: 30 }, (_, i) =>
      jobRow({ job_id: `job${i}`, title: `"${i}' ü 🎉`, created_at: 1_700_000_000_000 + i }),
    );
    await Promise.all(rows.map((row) => db.jobs.insert(row)));
    expect(await Promise.all(rows.map((row) => db.jobs.get(row.job_id)))).toEqual(rows);

    const claims = rows.map((row, i) => claimOf(row.job_id, i + 1, `w${i}`));
    const claimed = await Promise.all(claims.map((claim) => db.jobs.claim(claim)));
    expect(claimed.map((row) => [row?.job_id, row?.worker_id, row?.lease_token])).toEqual(
      claims.map((claim) => [claim.job_id, claim.worker_id, claim.lease_token]),
    );
    const again = await Promise.all(claims.map((claim) => db.jobs.claim(claim)));
    expect(again.every((row) => row === null)).toBe(true);

    const line = (i: number) => ({
      ts: i,
      type: "log" as const,
      data: { message: `line ${i}\u0000` },
    });
    const told = await Promise.all(
      [...rows, ...rows].map((row, i) => db.events.append(row.job_id, [line(i), line(i + 100)])),
    );
    expect(told.map((events) => events.map(({ seq }) => seq))).toEqual([
      ...rows.map(() => [1, 2]),
      ...rows.map(() => [3, 4]),
    ]);
    const [first] = await db.events.list("job7", 2, 1);
    expect(first).toMatchObject({ seq: 3, ts: 37, data: { message: "line 37\ufffd" } });

    // Every third comes under a stale lease.
    const ended = await Promise.all(
      rows.map((row, i) => db.jobs.finish(row.job_id, i % 3 === 0 ? 999 : i + 1, END)),
    );
    expect(ended.map((row) => row?.status ?? null)).toEqual(
      rows.map((_, i) => (i % 3 === 0 ? null : "completed")),
    );
    expect(ended[1]).toMatchObject({ title: "a\ufffdb\ufffdc 漢字 🎉", capture: END.capture });
    expect(await db.jobs.get("job1")).toEqual(ended[1] ?? null);
  });

  test("a job that cannot be inserted fails alone, and so do events of one that is not there", async () => {
    const db = await open();
    const rows = ["a", "b", "a"].map((job_id) => jobRow({ job_id }));
    await db.jobs.insert(jobRow({ job_id: "b" }));
    const inserted = await Promise.allSettled(rows.map((row) => db.jobs.insert(row)));
    const [first, refused, again] = inserted.map((one) => one.status);
    expect(refused).toBe("rejected");
    // Either of the two may be the one that is stored.
    expect([first, again].sort()).toEqual(["fulfilled", "rejected"]);
    const event = { ts: 1, type: "log" as const, data: {} };
    const told = await Promise.all(["a", "gone", "b"].map((id) => db.events.append(id, [event])));
    expect(told.map((events) => events.length)).toEqual([1, 0, 1]);
  });
});

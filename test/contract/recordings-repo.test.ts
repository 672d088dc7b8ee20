import { expect, test } from "bun:test";
import type { RecordingRow } from "#hub/platform/db/rows.ts";
import { emptyIndex } from "#shared/recording/index-of.ts";
import { eachDialect } from "#test/support/servers/db.ts";

/** Recordings in the database: how much is kept of them is decided by one statement each (rules/recordings#storage). */

const recording = (run_id: string, more: Partial<RecordingRow> = {}): RecordingRow => ({
  run_id,
  job_id: null,
  session_id: run_id,
  mode: "events",
  state: "live",
  started_at: 1,
  ended_at: null,
  sealed: 0,
  body_bytes: 0,
  has_screen: false,
  parts: [],
  contents: emptyIndex(),
  ...more,
});

eachDialect((open) => {
  test("bodies beside a recording have as much room as it says, however many come at once (rules/recordings#bodies-of-a-session)", async () => {
    const db = await open();
    await db.recordings.begin(recording("a", { sealed: 7 }));
    const reserved = await Promise.all(
      Array.from({ length: 8 }, () => db.recordings.reserveBody("a", 30, 100)),
    );
    expect(reserved.filter(Boolean)).toHaveLength(3);
    expect(await db.recordings.get("a")).toMatchObject({ body_bytes: 90, sealed: 7 });
    expect(await db.recordings.totalBytes()).toBe(97);
    expect(await db.recordings.reserveBody("a", -30, 100)).toBe(true);
    expect(await db.recordings.reserveBody("a", 40, 100)).toBe(true);
    expect(await db.recordings.totalBytes()).toBe(107);
    expect(await db.recordings.reserveBody("none", 1, 100)).toBe(false);
  });

  test("a sealed part leaves the count of the bodies alone", async () => {
    const db = await open();
    await db.recordings.begin(recording("b"));
    await db.recordings.reserveBody("b", 5, 10);
    await db.recordings.seal("b", 0, { sealed: 9, parts: [9], state: "whole", ended_at: 2 });
    expect(await db.recordings.get("b")).toMatchObject({ sealed: 9, body_bytes: 5 });
  });

  test("lists learn of a screen with the part that has it, until it turns out that it cannot be drawn (rules/recordings#the-small-picture-of-a-session)", async () => {
    const db = await open();
    const screens = async () =>
      (await db.recordings.ofSessions(["c", "d"])).map(({ has_screen }) => has_screen);
    await db.recordings.begin(recording("c"));
    await db.recordings.begin(recording("d", { started_at: 2 }));
    expect(await screens()).toEqual([false, false]);
    for (const run_id of ["c", "d"])
      await db.recordings.seal(run_id, 0, { sealed: 9, parts: [9], has_screen: true });
    expect(await screens()).toEqual([true, true]);
    await db.recordings.setScreenless("c");
    expect(await screens()).toEqual([false, true]);
  });
});

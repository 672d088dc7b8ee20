import { describe, expect, test } from "bun:test";
import type { PipelineContext } from "#hub/pipeline/context.ts";
import { createTurnQueue } from "#hub/pipeline/queue/turn.ts";
import { scheduleOnce } from "#hub/pipeline/schedules/schedules.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { createLog } from "#shared/kit/log.ts";
import { WorkloadCreate } from "#shared/protocol/schema/workload.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 1, 12, 0, 20);
const command = { executor_type: "command" as const, executor_config: { argv: ["true"] } };

async function addWorkload(db: Db, slug: string, fields: Record<string, unknown>) {
  const row = WorkloadCreate.parse({ slug, ...command, ...fields });
  const stored = await db.workloads.insert({ ...row, created_at: START, updated_at: START });
  return stored?.workload_id as number;
}

/** A control process, as far as schedules know one. */
function processOn(db: Db, clock: FakeClock, node = "a") {
  const store = db.openQueue({ node, now: () => clock.now(), random: () => 0.5 });
  const woken: number[] = [];
  const log: string[] = [];
  const pipeline = {
    store,
    turns: createTurnQueue(store, 1),
    wake: (workload_id: number) => woken.push(workload_id),
  };
  const disk_room: { shortage: string | null } = { shortage: null };
  const to = createLog("warn", (line) => log.push(line));
  const ctx = { db, clock, log: to, pipeline, disk_room };
  return { ctx, woken, log, pass: () => scheduleOnce(ctx as unknown as PipelineContext) };
}

const keysOf = async (process: ReturnType<typeof processOn>, workload_id: number) =>
  (await process.ctx.pipeline.store.peek(workload_id, [0, 1, 2, 3], 100, 0)).map((row) => row.pk);

eachDialect((open) => {
  describe("cron schedules (rules/pipeline-schedules#cron-expressions)", () => {
    test("every tick submits one task, with the tick's time as its key", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const id = await addWorkload(db, "often", { schedule: "*/2 * * * *" });
      const one = processOn(db, clock);
      await one.pass();
      await clock.advance(99_999);
      await one.pass();
      expect(await keysOf(one, id)).toEqual([]);
      await clock.advance(1);
      await one.pass();
      await one.pass();
      await clock.advance(2 * MINUTE + 500);
      await one.pass();
      expect(await keysOf(one, id)).toEqual([
        "2026-01-01T12:02:00.000Z",
        "2026-01-01T12:04:00.000Z",
      ]);
      expect(one.woken).toEqual([id, id]);
      const [row] = await one.ctx.pipeline.store.peek(id, [0], 1, 0);
      expect(JSON.parse(row?.extra ?? "")).toEqual({ scheduled_at: "2026-01-01T12:02:00.000Z" });
      const rates = await db.flow.rates({ since: 0, metric: "scheduled" });
      expect(rates.reduce((n, rate) => n + rate.n, 0)).toBe(2);
    });

    test("of four control processes that see a tick at once, one submits it, whatever has become of the task", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const id = await addWorkload(db, "shared", { schedule: "* * * * *" });
      const all = ["a", "b", "c", "d"].map((node) => processOn(db, clock, node));
      const [first] = all as [ReturnType<typeof processOn>];
      await first.pass();
      for (let tick = 0; tick < 5; tick += 1) {
        await clock.advance(MINUTE);
        await Promise.all(all.map((each) => each.pass()));
        // Done at once: a second submission of the tick would not be taken for a duplicate.
        const [pk] = await keysOf(first, id);
        expect(pk).toBe(new Date(Date.UTC(2026, 0, 1, 12, 1 + tick)).toISOString());
        await first.ctx.pipeline.store.cancel(id, pk as string);
        await Promise.all(all.map((each) => each.pass()));
        expect(await keysOf(first, id)).toEqual([]);
      }
      expect(all.reduce((n, each) => n + each.woken.length, 0)).toBe(5);
    });

    test("while a disk is short no tick is submitted, and with room the newest is, once (rules/pipeline-schedules#missed-ticks)", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const id = await addWorkload(db, "short", { schedule: "*/2 * * * *" });
      const one = processOn(db, clock);
      await one.pass();
      one.ctx.disk_room.shortage = "the disk is short";
      await clock.advance(5 * MINUTE);
      expect(await one.pass()).toBe(Number.POSITIVE_INFINITY);
      expect(await keysOf(one, id)).toEqual([]);
      one.ctx.disk_room.shortage = null;
      await one.pass();
      await one.pass();
      expect(await keysOf(one, id)).toEqual(["2026-01-01T12:04:00.000Z"]);
    });

    test("of the ticks that were missed the newest is submitted once", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const id = await addWorkload(db, "missed", { schedule: "*/10 * * * *" });
      await processOn(db, clock).pass();
      await clock.advance(24 * 60 * MINUTE);
      const later = processOn(db, clock);
      await later.pass();
      await later.pass();
      expect(await keysOf(later, id)).toEqual(["2026-01-02T12:00:00.000Z"]);
    });

    test("ticks of a workload that is off are not made up for", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const id = await addWorkload(db, "off", { schedule: "* * * * *", enabled: false });
      const one = processOn(db, clock);
      await one.pass();
      await clock.advance(10 * MINUTE);
      await one.pass();
      await db.workloads.update("off", { enabled: true });
      await one.pass();
      expect(await keysOf(one, id)).toEqual([]);
      await clock.advance(MINUTE);
      await one.pass();
      expect(await keysOf(one, id)).toEqual(["2026-01-01T12:11:00.000Z"]);
    });

    test("another expression or zone begins anew; without one nothing comes any more", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const id = await addWorkload(db, "changed", { schedule: "* * * * *" });
      const one = processOn(db, clock);
      const set = async (schedule: string | null, schedule_tz = "UTC") => {
        await db.workloads.update("changed", { schedule, schedule_tz });
        await one.pass();
      };
      await one.pass();
      await clock.advance(MINUTE);
      await set("0 9 * * *", "America/New_York");
      expect(await keysOf(one, id)).toEqual([]);
      await clock.advance(24 * 60 * MINUTE);
      await one.pass();
      expect(await keysOf(one, id)).toEqual(["2026-01-01T14:00:00.000Z"]);
      await set(null);
      await clock.advance(48 * 60 * MINUTE);
      await one.pass();
      expect(await keysOf(one, id)).toHaveLength(1);
    });

    test("a control process that dies with a tick leaves it to another one", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const id = await addWorkload(db, "orphan", { schedule: "* * * * *" });
      const [dying, other] = [processOn(db, clock, "a"), processOn(db, clock, "b")];
      await dying.pass();
      await clock.advance(40_000);
      const { turns } = dying.ctx.pipeline;
      const asked = Promise.withResolvers<void>();
      dying.ctx.pipeline.turns = {
        ...turns,
        call: () => {
          asked.resolve();
          return new Promise(() => {});
        },
      };
      void dying.pass();
      await asked.promise;
      await other.pass();
      expect(await keysOf(other, id)).toEqual([]);
      await clock.advance(30_000);
      await other.pass();
      expect(await keysOf(other, id)).toEqual(["2026-01-01T12:01:00.000Z"]);
    });

    test("a tick whose task could not be submitted is due again, and does not hold up its neighbours", async () => {
      const db = await open();
      const clock = createFakeClock(START);
      const [broken, fine] = [
        await addWorkload(db, "a-broken", { schedule: "* * * * *" }),
        await addWorkload(db, "b-fine", { schedule: "* * * * *" }),
      ];
      const one = processOn(db, clock);
      await one.pass();
      await clock.advance(MINUTE);
      const { turns } = one.ctx.pipeline;
      one.ctx.pipeline.turns = {
        ...turns,
        call: (op) =>
          "workload_id" in op && op.workload_id === broken
            ? Promise.reject(new Error("too much to do"))
            : turns.call(op),
      };
      await one.pass();
      expect(one.log.join()).toContain("too much to do");
      expect([await keysOf(one, broken), await keysOf(one, fine)].map((k) => k.length)).toEqual([
        0, 1,
      ]);
      one.ctx.pipeline.turns = turns;
      await one.pass();
      expect(await keysOf(one, broken)).toEqual(["2026-01-01T12:01:00.000Z"]);
    });
  });
});

test("a schedule that cannot be read or has no time to come is 422 naming the field (rules/pipeline-schedules#cron-expressions)", async () => {
  const hub = await startTestHub();
  try {
    const create = (fields: Record<string, unknown>) =>
      hub.call("POST", "/api/v1/workloads", { slug: "s", ...command, ...fields });
    for (const [field, value] of [
      ["schedule", "every day"],
      ["schedule", "61 * * * *"],
      ["schedule", "0 0 30 2 *"],
      ["schedule", "2020-01-01T00:00:00"],
      ["schedule_tz", "Mars/Olympus"],
    ] as const) {
      const { status, body } = await create({ [field]: value });
      expect([status, body.detail[0].loc]).toEqual([422, ["body", field]]);
    }
    expect((await create({ schedule: "30 6 * * MON", schedule_tz: "Europe/Berlin" })).status).toBe(
      201,
    );
    const put = { name: "s", ...command, schedule: "nonsense" };
    expect((await hub.call("PUT", "/api/v1/workloads/s", put)).status).toBe(422);
    expect((await hub.call("GET", "/api/v1/workloads/s")).body.schedule).toBe("30 6 * * MON");
  } finally {
    await hub.close();
  }
});

test("a control plane runs its schedules by itself", async () => {
  const clock = createFakeClock(START);
  const hub = await startTestHub({ clock, mode: "control" });
  try {
    await hub.call("POST", "/api/v1/workloads", {
      slug: "tick",
      ...command,
      schedule: "* * * * *",
    });
    for (let passes = 0; passes < 40; passes += 1) {
      await clock.advance(2_500);
      const { body } = await hub.call("GET", "/api/v1/workloads/tick/queue");
      if (body.pending > 0) break;
    }
    const { body } = await hub.call("GET", "/api/v1/workloads/tick/queue/peek");
    expect(body.rows[0]).toMatchObject({
      pk: expect.stringMatching(/^2026-01-01T12:0\d:00\.000Z$/),
    });
  } finally {
    await hub.close();
  }
});

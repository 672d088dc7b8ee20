import { describe, expect, test } from "bun:test";
import { createLog, type LogLevel, silentLog, withSink } from "#shared/kit/log.ts";
import { createLogMask } from "#shared/kit/log-mask.ts";
import { BatchRefused, createLogShipper, type LogBatch } from "#shared/kit/log-shipper.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);

function rig(options: { secrets?: string[] } = {}) {
  const clock = createFakeClock();
  const told: string[] = [];
  const shipper = createLogShipper({
    host: "h1",
    service: "worker",
    secrets: () => options.secrets ?? [],
    clock,
    random: () => 1,
    log: createLog("debug", (line) => told.push(JSON.parse(line).message)),
  });
  const batches: LogBatch[] = [];
  const state: { fail: Error | null; min_level: LogLevel } = { fail: null, min_level: "info" };
  const send = async (batch: LogBatch) => {
    if (state.fail) throw state.fail;
    batches.push(batch);
    return { min_level: state.min_level };
  };
  const log = withSink(silentLog, shipper.sink);
  const messages = () => batches.flatMap((batch) => batch.logs.map(({ message }) => message));
  return { clock, shipper, batches, state, send, log, told, messages };
}

describe("shipping of logs (rules/pipeline-operations#ship-logs)", () => {
  test("lines before and after the start go out in order, with the fields of child loggers", async () => {
    const { shipper, log, clock, send, batches, messages } = rig();
    const child = log.child({ worker_id: "w1" });
    child.info({ n: 1 }, "first");
    log.debug({}, "not of a level that is kept");
    shipper.start(send);
    await clock.advance(0);
    child.child({ task: 7 }).error({ err: new Error("broke") }, "second");
    await clock.advance(1_000);
    expect(messages()).toEqual(["first", "second"]);
    expect(batches[0]).toEqual({
      host: "h1",
      service: "worker",
      logs: [
        {
          ts: "2026-01-01T00:00:00.000Z",
          level: "info",
          message: "first",
          fields: { worker_id: "w1", n: 1 },
        },
      ],
    });
    expect(batches[1]?.logs[0]?.fields).toMatchObject({
      worker_id: "w1",
      task: 7,
      err: { name: "Error", message: "broke" },
    });
    await shipper.stop();
  });

  test("a field of the name service tells whose line it is, and batches never mix", async () => {
    const { shipper, log, clock, send, batches } = rig();
    for (const service of ["a", "a", "b", "a"]) log.info({ service }, service);
    shipper.start(send);
    await clock.advance(0);
    expect(batches.map(({ service, logs }) => [service, logs.length])).toEqual([
      ["a", 2],
      ["b", 1],
      ["a", 1],
    ]);
    expect(batches[0]?.logs[0]?.fields).toEqual({});
    await shipper.stop();
  });

  test("the receiver's level decides what is taken in from then on", async () => {
    const { shipper, log, clock, send, state, messages } = rig();
    shipper.start(send);
    state.min_level = "warn";
    log.info({}, "one");
    await clock.advance(1_000);
    log.info({}, "two");
    log.warn({}, "three");
    await clock.advance(1_000);
    expect(messages()).toEqual(["one", "three"]);
    await shipper.stop();
  });

  test("while it cannot send the oldest go, are counted, and the count is told once it can", async () => {
    const { shipper, log, clock, send, state, batches, messages, told } = rig();
    state.fail = new Error("no route");
    shipper.start(send);
    for (const i of times(5_100)) log.info({}, `m${i}`);
    expect(shipper.dropped).toBe(100);
    for (const _ of times(20)) await clock.advance(1_000);
    // Its own trouble is told once, on the logger that is not shipped.
    expect(told).toEqual(["could not ship logs"]);
    state.fail = null;
    for (const _ of times(40)) await clock.advance(1_000);
    expect(told).toEqual(["could not ship logs", "logs are shipped again"]);
    const all = messages();
    expect(all).toHaveLength(5_001);
    expect(all.slice(0, 2)).toEqual(["log lines dropped", "m100"]);
    expect(all.at(-1)).toBe("m5099");
    expect(batches[0]?.logs[0]).toMatchObject({ level: "warn", fields: { dropped: 100 } });
    expect(Math.max(...batches.map(({ logs }) => logs.length))).toBeLessThanOrEqual(501);
    expect(shipper.dropped).toBe(0);
    await shipper.stop();
  });

  test("a batch that is refused for good is dropped and counted, and the next ones pass", async () => {
    const { shipper, log, clock, send, state, messages } = rig();
    state.fail = new BatchRefused("422");
    log.info({}, "bad");
    shipper.start(send);
    await clock.advance(0);
    expect(shipper.dropped).toBe(1);
    state.fail = null;
    log.info({}, "good");
    await clock.advance(2_000);
    expect(messages()).toEqual(["log lines dropped", "good"]);
    await shipper.stop();
  });

  test("large lines are cut and all of them together take bounded memory", async () => {
    const { shipper, log, clock, send, batches, messages } = rig();
    log.info({ body: "x".repeat(20_000) }, "y".repeat(6_000));
    const ring: Record<string, unknown> = {};
    ring.ring = ring;
    log.info({ ring }, "a ring");
    log.info({ big: 1n }, "no JSON");
    shipper.start(send);
    await clock.advance(0);
    const [first, second, third] = batches[0]?.logs ?? [];
    expect(first?.message).toHaveLength(5_000);
    expect(first?.fields).toEqual({ left_out: expect.stringContaining("bytes") });
    for (const line of [second, third]) expect(line?.fields.left_out).toBeString();
    for (const i of times(600)) log.info({ i, body: "x".repeat(10_000) }, "long");
    expect(shipper.dropped).toBeGreaterThan(100);
    await clock.advance(1_000);
    expect(messages().filter((message) => message === "long").length).toBeGreaterThan(300);
    for (const batch of batches) expect(JSON.stringify(batch).length).toBeLessThan(1_000_000);
    await shipper.stop();
  });

  test("what is left is tried once more at the stop; what comes later goes nowhere", async () => {
    const { shipper, log, send, messages } = rig();
    shipper.start(send);
    log.info({}, "last words");
    await shipper.stop();
    log.info({}, "too late");
    await shipper.stop();
    expect(messages()).toEqual(["last words"]);
  });

  test("a stop does not wait for a receiver that does not answer", async () => {
    const { shipper, log, clock } = rig();
    log.info({}, "unheard");
    let aborted = false;
    shipper.start((_batch, signal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise(() => {});
    });
    await clock.advance(0);
    const stopped = shipper.stop();
    await clock.advance(2_000);
    await stopped;
    expect(aborted).toBe(true);
  });

  test("secrets are masked by value, in base64, and by the name of their field", async () => {
    const { shipper, log, clock, send, batches } = rig({ secrets: ["sesame-open", "short"] });
    const base64 = Buffer.from("sesame-open").toString("base64");
    log.warn(
      {
        url: "http://user:pass@host/x",
        nested: [{ api_key: "abc", text: `a sesame-open b ${base64}` }],
        db_password: "p",
        cookies: 3,
        cookie: "c=1",
        tokens_used: 5,
        path: "/short",
      },
      "it said sesame-open",
    );
    shipper.start(send);
    await clock.advance(0);
    expect(batches[0]?.logs[0]).toMatchObject({
      message: "it said ***",
      fields: {
        url: "http://***@host/x",
        nested: [{ api_key: "***", text: expect.stringMatching(/^a \*\*\* b \*\*\*=*$/) }],
        db_password: "***",
        cookies: 3,
        cookie: "***",
        tokens_used: 5,
        path: "/short",
      },
    });
    await shipper.stop();
  });

  test("tokens with roles are masked by their shape, wherever they stand", () => {
    const token = `flt_${"aB3-_".repeat(8)}xyz`;
    const mask = createLogMask([]);
    expect(mask.text(`curl -H 'authorization: Bearer ${token}'`)).not.toContain(token);
    expect(mask.text(`/jobs?token=${token}&limit=5`)).toBe("/jobs?token=***&limit=5");
    expect(mask.text("flt_short")).toBe("flt_short");
  });

  test("a mask bounds the depth it looks into", () => {
    let deep: unknown = "end";
    for (const _ of times(50)) deep = [deep];
    expect(JSON.stringify(createLogMask([]).value(deep))).toContain("…");
  });
});

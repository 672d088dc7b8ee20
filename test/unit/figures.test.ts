import { describe, expect, test } from "bun:test";
import { bucketsOf, readCaptures } from "#hub/fleet/figures/captures.ts";
import {
  endedAtLogin,
  hostFigures,
  hostProblem,
  readHosts,
  slowestOf,
} from "#hub/fleet/figures/hosts.ts";
import { findProblems, type ProblemFacts } from "#hub/fleet/figures/problems.ts";
import { daysUntilFull } from "#hub/fleet/figures/storage.ts";
import type { CaptureFacts } from "#hub/platform/db/figures.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";

/** What the fleet's figures say, and when they call something a problem (rules/figures#problems). */

const NOW = Date.parse("2026-03-01T10:24:00Z");
const MINUTE = 60_000;
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

const capture = (fields: Partial<CaptureFacts> = {}): CaptureFacts => ({
  job_id: "j",
  status: "completed",
  host: "shop.test",
  url: "https://shop.test/list",
  final_url: "https://shop.test/list",
  http_status: 200,
  error: null,
  created_at: NOW,
  started_at: NOW,
  finished_at: NOW + 1_000,
  ...fields,
});
/** The newest first, a minute apart. */
const row = (all: Partial<CaptureFacts>[]) =>
  all.map((fields, i) => capture({ created_at: NOW - i * MINUTE, ...fields }));
const LOGIN = { final_url: "https://shop.test/account/login?next=%2Flist" };

describe("buckets (rules/figures#captures)", () => {
  test("begin at whole multiples of their length, and the last one is the running one", () => {
    const day = bucketsOf("24h", NOW);
    expect(day).toHaveLength(24);
    expect(day.at(-1)?.from).toBe(Date.parse("2026-03-01T10:00:00Z"));
    expect(day[0]?.from).toBe(Date.parse("2026-02-28T11:00:00Z"));
    expect(bucketsOf("1h", NOW)).toHaveLength(30);
    expect(bucketsOf("6h", NOW)).toHaveLength(24);
    expect(bucketsOf("7d", NOW)).toHaveLength(28);
  });

  test("that are settled are counted once; the running one and those with open jobs are again", async () => {
    const asked: number[] = [];
    let open = 1;
    const figures = {
      counts: async (from: number) => {
        asked.push(from);
        const held = from === Date.parse("2026-03-01T08:00:00Z") && open > 0;
        return held
          ? [{ status: "running" as const, http_error: false, n: 1 }]
          : [{ status: "completed" as const, http_error: false, n: 2 }];
      },
      failingHosts: async () => [],
    };
    const db = { figures } as unknown as Pick<Db, "figures">;
    const cache = new Map();
    const read = (monotonic: number) => readCaptures(db, cache, "24h", { now: NOW, monotonic });
    const { captures } = await read(0);
    expect(captures.total).toMatchObject({ completed: 46, open: 1 });
    expect(asked).toHaveLength(24);
    asked.length = 0;
    open = 0;
    expect((await read(1_000)).captures.total.completed).toBe(48);
    expect(asked).toHaveLength(2);
    asked.length = 0;
    await read(2_000);
    expect(asked).toHaveLength(1);
    asked.length = 0;
    // What retention deletes shows after five minutes.
    await read(1_000_000);
    expect(asked).toHaveLength(24);
  });
});

describe("hosts (rules/figures#hosts)", () => {
  test("a page that answered with an error is no success, and a median needs captures that ran", () => {
    const found = hostFigures("shop.test", [
      capture({ http_status: 502, finished_at: NOW + 3_000 }),
      capture({ status: "failed", error: "no such host", finished_at: NOW + 5_000 }),
      capture({ finished_at: NOW + 1_000 }),
      capture({ status: "cancelled", finished_at: NOW + 90_000 }),
    ]);
    expect(found).toEqual({
      host: "shop.test",
      captures: 4,
      completed: 1,
      http_error: 1,
      failed: 1,
      login_needed: 0,
      median_ms: 3_000,
      error: "the page answered with 502",
    });
    expect(hostFigures("x.test", []).median_ms).toBeNull();
  });

  test("the slowest are judged by three captures at least", () => {
    const of = (host: string, ms: number, n: number) =>
      times(n).map(() => capture({ host, finished_at: NOW + ms }));
    expect(slowestOf([...of("a", 900, 3), ...of("b", 60_000, 2), ...of("c", 4_000, 3)])).toEqual([
      "c",
      "a",
    ]);
  });

  test("a capture ended on a sign-in page that it was not sent to", () => {
    expect(endedAtLogin(capture(LOGIN))).toBe(true);
    expect(endedAtLogin(capture({ final_url: "https://login.test.example/u" }))).toBe(true);
    expect(endedAtLogin(capture({ final_url: "https://shop.test/blog/logins-explained" }))).toBe(
      false,
    );
    expect(endedAtLogin(capture({ final_url: "https://shop.test/authors" }))).toBe(false);
    expect(endedAtLogin(capture({ ...LOGIN, url: "https://shop.test/login" }))).toBe(false);
    expect(endedAtLogin(capture({ error: "login failed: #me is not there" }))).toBe(true);
    expect(endedAtLogin(capture({ final_url: "not an address" }))).toBe(false);
  });

  test("a login page reached again and again is a problem since the first of the row, until a capture passes it", () => {
    const found = hostProblem("shop.test", row([LOGIN, LOGIN, LOGIN, {}, LOGIN]));
    expect(found).toMatchObject({
      kind: "login_needed",
      severity: "bad",
      subject: "shop.test",
      detail: "4 of the last 5 captures ended on its sign-in page",
      since: new Date(NOW - 2 * MINUTE).toISOString(),
      url: "https://shop.test/list",
    });
    expect(hostProblem("shop.test", row([{}, LOGIN, LOGIN, LOGIN]))).toBeNull();
    expect(hostProblem("shop.test", row([LOGIN, LOGIN]))).toBeNull();
    expect(hostProblem("shop.test", row([LOGIN, LOGIN, LOGIN, {}, {}, {}, {}]))).toBeNull();
  });

  test("a host fails when most of its newest captures do, with the commonest cause", () => {
    const down = { status: "failed" as const, error: "connection refused" };
    const slow = { status: "failed" as const, error: "timed out" };
    expect(hostProblem("shop.test", row([down, slow, down, down, down, {}]))).toMatchObject({
      kind: "host_failing",
      severity: "bad",
      detail: "5 of the last 6 captures went wrong: connection refused",
      since: new Date(NOW - 4 * MINUTE).toISOString(),
    });
    expect(hostProblem("shop.test", row(times(5).map(() => ({ http_status: 503 }))))).toMatchObject(
      {
        severity: "warn",
        detail: "5 of the last 5 captures went wrong: the page answered with 503",
      },
    );
    expect(hostProblem("shop.test", row([{}, down, down, down, down, down]))).toBeNull();
    expect(hostProblem("shop.test", row([down, down, down, down]))).toBeNull();
    const long = hostProblem(
      "shop.test",
      row(times(5).map(() => ({ status: "failed" as const, error: "x".repeat(9_000) }))),
    );
    expect(long?.detail.length).toBeLessThan(400);
  });
});

test("a host that asks for a login has trouble, although its sign-in page answers with 200 (rules/figures#hosts)", async () => {
  const rows = row([LOGIN, LOGIN, {}]);
  const db = { figures: { newest: async () => rows } } as unknown as Pick<Db, "figures">;
  const { failing, problems } = await readHosts(db, NOW, []);
  expect(failing).toMatchObject([{ host: "shop.test", completed: 3, failed: 0, login_needed: 2 }]);
  expect(problems).toEqual([]);
});

describe("problems (rules/figures#problems)", () => {
  const lane = (state: string, reason: string | null = null) =>
    ({ lane_idx: 0, state, reason, job_id: null, session_id: null }) as Worker["lanes"][number];
  const worker = (fields: Partial<Worker> = {}): Worker =>
    ({
      worker_id: "w1",
      alive: true,
      status: "active",
      disk_pct: 20,
      in_flight: 0,
      capabilities: { max_concurrent: 2 },
      lanes: [lane("warm")],
      last_heartbeat_at: new Date(NOW - MINUTE).toISOString(),
      ...fields,
    }) as Worker;
  const queue = { queued: 0, oldest_at: null, waiting_for: null };
  const facts = (fields: Partial<ProblemFacts> = {}): ProblemFacts => ({
    now: NOW,
    workers: [worker()],
    queue,
    storage: null,
    disk_shortage: null,
    stores: [],
    stuck: null,
    hosts: [],
    ...fields,
  });
  const kinds = (fields: Partial<ProblemFacts>) =>
    findProblems(facts(fields)).map(({ kind, severity, subject }) =>
      [kind, severity, subject].filter(Boolean).join(" "),
    );

  test("there are none where all is well", () => {
    expect(findProblems(facts())).toEqual([]);
  });

  test("without a worker there is one, since the last was heard of", () => {
    expect(findProblems(facts({ workers: [] }))).toMatchObject([
      { kind: "no_worker", severity: "bad", since: null, detail: "no worker is connected" },
    ]);
    const gone = worker({ alive: false, lanes: [] });
    expect(findProblems(facts({ workers: [gone] }))).toMatchObject([
      { kind: "no_worker", since: gone.last_heartbeat_at },
    ]);
  });

  test("workers that are all on drain or standby are one problem, which names one to make active", () => {
    const workers = [worker({ status: "drain" }), worker({ worker_id: "w2", status: "standby" })];
    expect(kinds({ workers })).toEqual(["workers_paused bad w1"]);
    expect(kinds({ workers: [worker(), worker({ worker_id: "w2", status: "drain" })] })).toEqual(
      [],
    );
  });

  test("a link that is lost, a disk that fills and lanes out of service have a line each, the worst first", () => {
    const workers = [
      worker({ worker_id: "ok" }),
      worker({ worker_id: "gone", alive: false, lanes: [] }),
      worker({
        worker_id: "old",
        alive: false,
        lanes: [],
        last_heartbeat_at: new Date(NOW - 30 * 86_400_000).toISOString(),
      }),
      worker({ worker_id: "filling", disk_pct: 86.4 }),
      worker({ worker_id: "full", disk_pct: 90 }),
      worker({ worker_id: "ill", lanes: [lane("warm"), lane("dead", "it does not start")] }),
    ];
    expect(kinds({ workers })).toEqual([
      "worker_disk bad full",
      "worker_gone warn gone",
      "worker_disk warn filling",
      "lanes_out warn ill",
    ]);
    expect(findProblems(facts({ workers })).at(-1)?.detail).toBe(
      "1 lane of 2 out of service: it does not start",
    );
  });

  test("the hub's own stores and disk come with what is wrong", () => {
    const stores = [
      { part: "object_store" as const, detail: "it does not answer" },
      { part: "disk" as const, detail: "said below" },
    ];
    expect(kinds({ stores, disk_shortage: "the disk of the database is short" })).toEqual([
      "store bad object store",
      "hub_disk bad",
    ]);
    const stuck = { since: NOW - 1_000, detail: "job a: it is read-only" };
    expect(findProblems(facts({ stuck }))).toMatchObject([
      { kind: "retention", since: new Date(stuck.since).toISOString(), detail: stuck.detail },
    ]);
    const storage = { full_at: new Date(NOW + 3_600_000).toISOString() } as never;
    expect(kinds({ storage })).toEqual(["hub_disk warn"]);
  });

  test("captures that wait long are told of with their cause", () => {
    const waits = {
      queued: 2,
      oldest_at: new Date(NOW - 6 * MINUTE).toISOString(),
      waiting_for: { reason: "lanes_busy" as const, detail: "the only lane is busy" },
    };
    expect(findProblems(facts({ queue: waits }))).toMatchObject([
      {
        kind: "queue_waits",
        since: waits.oldest_at,
        detail: "2 captures wait for a lane: the only lane is busy",
      },
    ]);
    const recent = { ...waits, oldest_at: new Date(NOW - MINUTE).toISOString() };
    expect(findProblems(facts({ queue: recent }))).toEqual([]);
  });
});

describe("storage (rules/figures#storage)", () => {
  const room = { stored: 0, room: 100, bytes_per_day: 10, retention_days: 0, max_bytes: 0 };
  test("is full when the pace has used the room, and never where what is old goes first", () => {
    expect(daysUntilFull(room)).toBe(10);
    expect(daysUntilFull({ ...room, bytes_per_day: 0 })).toBeNull();
    expect(daysUntilFull({ ...room, retention_days: 10 })).toBeNull();
    expect(daysUntilFull({ ...room, retention_days: 11 })).toBe(10);
    expect(daysUntilFull({ ...room, max_bytes: 100 })).toBeNull();
    expect(daysUntilFull({ ...room, max_bytes: 101 })).toBe(10);
    expect(daysUntilFull({ ...room, bytes_per_day: 0.001 })).toBeNull();
  });
});

import { afterEach, describe, expect, test } from "bun:test";
import { processesOf, until } from "#test/support/rigs/fleet-process.ts";
import {
  type ChaosFleet,
  type Rows,
  startChaosFleet,
  writeSleeper,
} from "#test/support/rigs/pipeline-chaos.ts";

/** Full size: `bun run test:chaos:pipeline` (20,000 tasks); the suite runs a short one. */
const TASKS = Number(process.env.PIPELINE_CHAOS_TASKS ?? 1_600);
const FULL = TASKS >= 20_000;
const WORKERS = 4;
const SLOTS = 2;
const BATCH = 50;
const LEASE_S = 5;
/** A dead worker's tasks are claimed again at most so long after their lease, where an answer takes no time. */
const RECLAIM_MS = 2_000;
/** And so many of the slowest answer of the control plane later where it takes some: a sweep, a turn and a claim are several. */
const SLOWER = 10;
/** How long the tasks would take if nobody were killed: long enough for every blow to fall while they run. */
const WORK_MS = FULL ? 40_000 : 5_000;
const DRAINED_MS = 300_000;
const SLUG = "chaos";

type Blow = "worker" | "control" | "database";
const BLOWS: Record<"sqlite" | "postgres", Blow[]> = {
  sqlite: ["worker", "control", "worker"],
  postgres: ["worker", "database", "worker", "control"],
};
const blowsOf = (dialect: "sqlite" | "postgres") =>
  FULL ? [...BLOWS[dialect], ...BLOWS[dialect], ...BLOWS[dialect]] : BLOWS[dialect];

interface Story {
  /** Epoch ms at which a worker was killed, by its name. */
  kills: { worker: string; at: number }[];
  /** When nobody could claim: the control plane or the database was away. */
  outages: { from: number; to: number }[];
  /** The longest that it took the control plane to answer, in ms. */
  slowest: number;
}

let fleet: ChaosFleet | undefined;
afterEach(async () => {
  await fleet?.stop();
  fleet = undefined;
}, 180_000);

describe.each(["sqlite", "postgres"] as const)("%s", (dialect) => {
  test(
    `${TASKS} tasks on ${WORKERS} workers under kill -9 of everything: none lost, each succeeds exactly once (rules/pipeline-overview#delivery-and-recording)`,
    async () => {
      const running = await startChaosFleet(dialect, WORKERS, SLOTS);
      fleet = running;
      const per_task = (WORK_MS * WORKERS * SLOTS) / TASKS;
      await running.call("POST", "/workloads", {
        slug: SLUG,
        executor_type: "python_module",
        batch_size: BATCH,
        lease_secs: LEASE_S,
        max_attempts: 100,
        backoff: { kind: "fixed", base_s: 0, jitter: 0 },
        executor_config: { source_path: writeSleeper(running.dir, per_task), module: "sleeper" },
      });
      await submitRange(running, 0, TASKS / 2);
      const submitting = submitRange(running, TASKS / 2, TASKS);
      submitting.catch(() => {}); // told by the wait for it

      const tell = async (err: Error): Promise<never> => {
        const counts = JSON.stringify(await running.call("GET", `/workloads/${SLUG}/queue`));
        const tails = [running.control, ...running.workers].map((p) => `${p.name}:\n${p.tail()}`);
        throw new Error(`${err.message}: ${counts}\n${tails.join("\n")}`);
      };
      const story = await strike(running, blowsOf(dialect)).catch(tell);
      await submitting;
      await until("the queue to drain", DRAINED_MS, async () => (await left(running)) === 0).catch(
        tell,
      );

      const rows = await running.halt();
      await judgeRuns(rows);
      const { worst, judged } = await judgeReclaims(rows, story);
      const outcomes = await rows(
        "select outcome, count(*) as n from runs group by outcome order by outcome",
      );
      console.log(
        `chaos on ${dialect}: ${TASKS} tasks, ${story.kills.length} workers killed, ${story.outages.length} outages ` +
          `(${story.outages.map(({ from, to }) => `${to - from} ms`).join(", ")}); runs by outcome ${outcomes
            .map(({ outcome, n }) => `${outcome}: ${n}`)
            .join(
              ", ",
            )}; ${judged} tasks of dead workers claimed again, the last ${worst} ms after its worker's death`,
      );
      expect(processesOf(running.dir).filter((p) => p.state !== "Z")).toEqual([]);
    },
    FULL ? 1_200_000 : 600_000,
  );
});

/** As a client does: again after every failure. What was taken before its answer was lost is a duplicate. */
async function submitRange(running: ChaosFleet, from: number, to: number): Promise<void> {
  const step = Math.min(1_000, Math.ceil(TASKS / 8));
  for (let at = from; at < to; at += step) {
    const items = Array.from({ length: Math.min(step, to - at) }, (_, i) => ({ pk: `t${at + i}` }));
    await until("a batch to be taken", 60_000, () =>
      running.call("POST", `/workloads/${SLUG}/tasks/batch`, { items }),
    );
  }
}

const left = async (running: ChaosFleet): Promise<number> =>
  (await running.call("GET", `/workloads/${SLUG}/queue`))?.total ?? Number.NaN;

/** The blows, spread over the work: each falls when its share of the tasks has left the queue. */
async function strike(running: ChaosFleet, blows: Blow[]): Promise<Story> {
  const story: Story = { kills: [], outages: [], slowest: 0 };
  for (const [i, blow] of blows.entries()) {
    const share = Math.floor((TASKS / 2) * ((i + 0.5) / blows.length));
    await until(`${share} tasks to succeed`, DRAINED_MS, async () => {
      const asked = performance.now();
      const answer = await running.call("GET", `/runs?limit=1`);
      if (answer) story.slowest = Math.max(story.slowest, performance.now() - asked);
      return (answer?.runs[0]?.run_id ?? 0) >= share;
    });
    if (blow === "worker") {
      const victim = running.workers[story.kills.length % WORKERS];
      if (!victim) throw new Error("no worker");
      await until("a living worker", 60_000, () => victim.alive);
      victim.kill("SIGKILL");
      story.kills.push({ worker: victim.name, at: Date.now() });
      continue;
    }
    const from = Date.now();
    if (blow === "control") running.control.kill("SIGKILL");
    else {
      // At once, without a checkpoint: as `pg_ctl restart -m immediate`.
      await running.server?.kill();
      await running.server?.restart();
    }
    await until("the blow to be felt", 60_000, () => blow === "database" || !running.control.alive);
    await running.healthy();
    story.outages.push({ from, to: Date.now() });
  }
  return story;
}

async function judgeRuns(rows: Rows): Promise<void> {
  const one = async (sql: string) => Number((await rows(sql))[0]?.n);
  expect(await one("select count(*) as n from tasks")).toBe(0);
  expect(await one("select count(*) as n from runs where outcome = 0")).toBe(TASKS);
  expect(await one("select count(distinct pk) as n from runs where outcome = 0")).toBe(TASKS);
  expect(await one("select count(distinct task_id) as n from runs where outcome = 0")).toBe(TASKS);
  // Every attempt left one run: numbers from 1 without a gap.
  expect(
    await rows(
      "select task_id, count(*) as n from runs group by task_id having count(*) <> max(attempt) or count(*) <> count(distinct epoch)",
    ),
  ).toEqual([]);
  const [counts] = await rows(
    "select sum(ready) as ready, sum(claimed) as claimed, sum(failed) as failed, sum(delayed) as delayed from workload_stats",
  );
  expect(Object.values(counts ?? {}).map(Number)).toEqual([0, 0, 0, 0]);
}

/** Of tasks whose worker was killed: from its death to the next claim, by the database's times. */
async function judgeReclaims(
  rows: Rows,
  { kills, outages, slowest }: Story,
): Promise<{ worst: number; judged: number }> {
  const expired = await rows(
    `select dead.worker_id, dead.started_at as claimed_at, next.started_at as again_at
     from runs dead join runs next on next.task_id = dead.task_id and next.attempt = dead.attempt + 1
     where dead.outcome = 3`,
  );
  const allowed = LEASE_S * 1_000 + RECLAIM_MS + SLOWER * slowest;
  let worst = 0;
  let judged = 0;
  for (const row of expired) {
    const [claimed_at, again_at] = [Number(row.claimed_at), Number(row.again_at)];
    const death = kills.find(
      ({ worker, at }) => worker === row.worker_id && at >= claimed_at && at <= again_at,
    );
    if (!death) continue;
    const away = outages.reduce(
      (sum, { from, to }) => sum + Math.max(0, Math.min(to, again_at) - Math.max(from, death.at)),
      0,
    );
    judged += 1;
    worst = Math.max(worst, again_at - death.at);
    expect(again_at - death.at - away).toBeLessThanOrEqual(allowed);
  }
  expect(judged).toBeGreaterThan(0);
  return { worst, judged };
}

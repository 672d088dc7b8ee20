import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Recording } from "#shared/recording/record.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import {
  judgeRun,
  openSession,
  type RecordedRun,
  runJob,
  runSession,
  serveRecordedPages,
} from "#test/support/rigs/recorded-runs.ts";

/** Full size: `bun scripts/soak-recordings.ts` and the same with `--kill`; the suite runs a short one. */

const LONG_MS = 180_000;
/** A worker sends once a second; the rest is for a machine that is busy. */
const MOST_LOST_MS = 3_000;

let fleet: FleetProcesses;
let site: ReturnType<typeof serveRecordedPages>;

beforeAll(async () => {
  site = serveRecordedPages();
  fleet = await startFleet({ lanes: 2, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(LONG_MS);
}, LONG_MS);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
}, LONG_MS);

const judgeAll = async (runs: (RecordedRun | null)[], options = {}) => {
  const judged = [];
  for (const run of runs) {
    if (run === null) throw new Error("a run was not begun");
    judged.push(await judgeRun(fleet, run, { ms: LONG_MS, ...options }));
  }
  return judged;
};
const recordingOf = async ({ path }: RecordedRun): Promise<Recording | null> => {
  const answer = await fetch(`${fleet.url}${path}/recording`).catch(() => null);
  return answer?.status === 200 ? ((await answer.json()) as Recording) : null;
};

/** A session whose page moves, with a second of it at the hub. */
async function movingSession(): Promise<RecordedRun> {
  const session = await until("a session", LONG_MS, () =>
    openSession(fleet, `${site.url}moving`, { idle_ttl_s: 60 }),
  );
  await until("pictures at the hub", LONG_MS, async () => {
    const recording = await recordingOf(session);
    return (recording?.chunks.at(-1)?.ms ?? 0) > 1_000;
  });
  return session;
}

async function kill(victim: "hub" | "worker"): Promise<number> {
  const { starts } = fleet[victim];
  const at = Date.now();
  fleet[victim].kill("SIGKILL");
  await until(`another ${victim}`, LONG_MS, () => fleet[victim].starts > starts);
  return at;
}

// rules/recordings#the-file
test(
  "recordings of jobs and sessions are whole, and a strict reader finds nothing wrong with them",
  async () => {
    const url = site.url.href;
    const jobs = async () => [await runJob(fleet, url, 0), await runJob(fleet, url, 2)];
    const others = async () => [await runSession(fleet, url, 0), await runJob(fleet, url, 3)];
    const judged = await judgeAll((await Promise.all([jobs(), others()])).flat());
    expect(judged.flatMap(({ faults }) => faults)).toEqual([]);
    expect(judged.map(({ state }) => state)).toEqual(judged.map(() => "whole"));
  },
  LONG_MS,
);

// rules/recordings#on-the-way-to-the-hub
test(
  "kill -9 of the hub, then of the worker: what was recorded plays up to the last second before it",
  async () => {
    const first = await movingSession();
    const hub_killed = await kill("hub");
    // Its worker goes on, and sends what the hub has lost once more.
    await until("an answer to the end of the session", LONG_MS, () =>
      fetch(fleet.url + first.path, { method: "DELETE" }).then(
        ({ status }) => status === 204 || status === 404,
        () => false,
      ),
    );
    const [with_hub] = await judgeAll([first]);
    expect(with_hub).toMatchObject({ faults: [], state: "whole" });
    expect(hub_killed - (with_hub?.last_at ?? 0)).toBeLessThan(MOST_LOST_MS);

    const second = await movingSession();
    const worker_killed = await kill("worker");
    const [with_worker] = await judgeAll([second], { live_is_lost: true });
    expect(with_worker?.faults).toEqual([]);
    expect(worker_killed - (with_worker?.last_at ?? 0)).toBeLessThan(MOST_LOST_MS);
    expect(with_worker?.chunks).toBeGreaterThan(0);
  },
  LONG_MS,
);

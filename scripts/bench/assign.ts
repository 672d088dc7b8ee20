import { withDeadline } from "#shared/kit/clock.ts";
import { startFleet, until } from "#test/support/rigs/fleet-process.ts";
import { type Bench, showMs, statsOf } from "./harness.ts";
import { startHubOnly } from "./hub-only.ts";
import { connectStubWorker, stubJobs, submitStub } from "./stub-jobs.ts";

/** Everything measured here takes milliseconds. */
const EVENT_MS = 20_000;

/** POST /jobs → the worker has the assignment; a lane reported free → the next queued job is assigned. */
export const assign: Bench = async ({ runs, tiny }) => {
  const hub = await startHubOnly();
  const samples = tiny ? 5 : Math.max(50, runs * 30);
  try {
    const worker = await connectStubWorker(hub.url, "bench", 1, true);
    const direct: number[] = [];
    const pulled: number[] = [];
    for (let i = 0; i < samples; i += 1) {
      const first = Promise.withResolvers<{ job_id: string; at: number }>();
      worker.onAssigned = (job_id, at) => first.resolve({ job_id, at });
      const sent = performance.now();
      const answer = submitStub(hub.url);
      const one = await withDeadline("the assignment of a job", EVENT_MS, first.promise);
      direct.push(one.at - sent);
      await (await answer).arrayBuffer();

      // A second job waits for the only lane; the first one's end frees it.
      const second = Promise.withResolvers<{ job_id: string; at: number }>();
      worker.onAssigned = (job_id, at) => second.resolve({ job_id, at });
      const waiting = submitStub(hub.url);
      await queuedOne(hub.url);
      let freed = 0;
      worker.onLaneFreed = (at) => {
        freed = at;
      };
      worker.finish(one.job_id);
      const two = await withDeadline("the assignment of the queued job", EVENT_MS, second.promise);
      pulled.push(two.at - freed);
      await (await waiting).arrayBuffer();
      worker.finish(two.job_id);
    }
    await worker.close();
    const rate = await stubJobs(hub.url, { jobs: tiny ? 50 : 5_000, workers: 4, lanes: 4 });

    const figures = [
      line("POST /jobs → worker has it, free lane", statsOf(direct), "p95 ≤ 50 ms"),
      line("lane freed → next queued job at the worker", statsOf(pulled), "p95 ≤ 250 ms"),
      {
        bench: "assign",
        metric: "jobs assigned and finished, stub workers, SQLite",
        value: `${Math.round(rate)} jobs/s`,
        target: "≥ 1,000 jobs/s",
      },
    ];
    if (!tiny) figures.push(await realStart(runs));
    return figures;
  } finally {
    await hub.stop();
  }
};

const line = (metric: string, stats: ReturnType<typeof statsOf>, target: string) => ({
  bench: "assign",
  metric,
  value: `p50 ${stats.median.toFixed(2)} ms, p95 ${stats.p95.toFixed(2)} ms (n=${stats.n})`,
  target,
});

async function queuedOne(url: string): Promise<void> {
  await until("one queued job", EVENT_MS, async () => {
    const answer = await fetch(`${url}/jobs?status=queued`);
    const { jobs } = (await answer.json()) as { jobs: unknown[] };
    return jobs.length === 1;
  });
}

/** The same with a real worker: POST sent → first line of the job's log written by the worker. */
async function realStart(runs: number) {
  const fleet = await startFleet({ lanes: 1 });
  try {
    await fleet.lanesWarm(60_000);
    const times: number[] = [];
    for (let i = 0; i < runs; i += 1) {
      const sent = Date.now();
      const job = await fleet.submit("http://127.0.0.1:9/", { idle_seconds: 0 });
      const first = await firstEvent(fleet.url, job.job_id);
      times.push(Date.parse(first.ts) - sent);
      await fleet.finished(job.job_id);
      await fleet.lanesWarm();
    }
    return {
      bench: "assign",
      metric: "POST /jobs → first log line of a real worker, warm lane",
      value: showMs(statsOf(times)),
      target: "p95 ≤ 50 ms",
    };
  } finally {
    await fleet.stop();
  }
}

async function firstEvent(url: string, job_id: string): Promise<{ ts: string }> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/jobs/${job_id}/events?since=0`);
  const first = new Promise<{ ts: string }>((resolve, reject) => {
    socket.addEventListener("message", (e) => resolve(JSON.parse(String(e.data))));
    socket.addEventListener("close", () => reject(new Error("events closed")));
  });
  try {
    return await withDeadline(`the first event of job ${job_id}`, EVENT_MS, first);
  } finally {
    socket.close();
  }
}

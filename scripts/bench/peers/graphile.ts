import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { counter, job, PAYLOAD, pickups, print, timedSubmit, until } from "./common.ts";

const logger = new Logger(() => () => {});
const pgPool = new pg.Pool({ connectionString: job.url, max: 10 });
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
const add = (_from: number, n: number) =>
  utils.addJobs(Array.from({ length: n }, () => ({ identifier: "bench", payload: PAYLOAD })));

/** `defaults`: concurrency alone. `batched`: local queue of 500 and batched completion, as its own benchmark. */
const options = {
  pgPool,
  logger,
  noHandleSignals: true,
  preset: {
    worker: {
      concurrentJobs: 24,
      ...(job.variant === "batched"
        ? {
            localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          }
        : {}),
    },
  },
};
const left = async () =>
  Number((await pgPool.query("select count(*)::int as n from graphile_worker._private_jobs")).rows[0].n);

if (job.scenario === "submit") print({ rate: await timedSubmit(add) });
if (job.scenario === "drain") {
  const { all, count } = counter();
  await timedSubmit(add);
  const start = performance.now();
  const runner = await run({ ...options, taskList: { bench: async () => count() } });
  await all;
  await until(async () => (await left()) === 0);
  print({ rate: (job.tasks / (performance.now() - start)) * 1_000 });
  await runner.stop();
}
if (job.scenario === "pickup") {
  let told = () => {};
  const runner = await run({ ...options, taskList: { bench: async () => told() } });
  const times = await pickups(
    () => utils.addJob("bench", PAYLOAD),
    (tell) => {
      told = tell;
    },
  );
  print({ times });
  await runner.stop();
}
await utils.release();
await pgPool.end();
process.exit(0);

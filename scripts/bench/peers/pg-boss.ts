import { PgBoss } from "pg-boss";
import pg from "pg";
import { counter, job, PAYLOAD, pickups, print, timedSubmit, until } from "./common.ts";

const QUEUE = "bench";
const boss = new PgBoss({ connectionString: job.url, supervise: false, schedule: false, useListenNotify: true });
boss.on("error", (err) => console.error(err));
await boss.start();
await boss.createQueue(QUEUE, { notify: true });
const add = (_from: number, n: number) =>
  boss.insert(QUEUE, Array.from({ length: n }, () => ({ data: PAYLOAD })));
const client = new pg.Client({ connectionString: job.url });
await client.connect();
const done = async () =>
  Number(
    (await client.query("select count(*)::int as n from pgboss.job where name = 'bench' and state = 'completed'")).rows[0].n,
  );

if (job.scenario === "submit") print({ rate: await timedSubmit(add) });
if (job.scenario === "drain") {
  const { all, count } = counter();
  await timedSubmit(add);
  const start = performance.now();
  const batchSize = Number(job.variant);
  for (let i = 0; i < 2; i += 1)
    await boss.work(
      QUEUE,
      { batchSize, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
      async (jobs) => count(jobs.length),
    );
  await all;
  await until(async () => (await done()) >= job.tasks);
  print({ rate: (job.tasks / (performance.now() - start)) * 1_000 });
}
if (job.scenario === "pickup") {
  let told = () => {};
  await boss.work(QUEUE, { pollingIntervalSeconds: 0.5 }, async () => told());
  const times = await pickups(
    () => boss.send(QUEUE, PAYLOAD),
    (tell) => {
      told = tell;
    },
  );
  print({ times });
}
process.exit(0);

import { Queue, Worker } from "bullmq";
import { counter, job, PAYLOAD, pickups, print, timedSubmit, until } from "./common.ts";

const { hostname: host, port } = new URL(job.url);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const queue = new Queue("bench", { connection });
const opts = { removeOnComplete: true };
const add = (_from: number, n: number) =>
  queue.addBulk(Array.from({ length: n }, () => ({ name: "bench", data: PAYLOAD, opts })));
const left = async () => {
  const counts = await queue.getJobCounts("waiting", "active");
  return (counts.waiting ?? 0) + (counts.active ?? 0);
};

if (job.scenario === "submit") print({ rate: await timedSubmit(add) });
if (job.scenario === "drain") {
  const { all, count } = counter();
  await timedSubmit(add);
  const start = performance.now();
  const worker = new Worker("bench", async () => count(), { connection, concurrency: Number(job.variant) });
  await all;
  await until(async () => (await left()) === 0);
  print({ rate: (job.tasks / (performance.now() - start)) * 1_000 });
  await worker.close();
}
if (job.scenario === "pickup") {
  let told = () => {};
  const worker = new Worker("bench", async () => told(), { connection });
  await worker.waitUntilReady();
  const times = await pickups(
    () => queue.add("bench", PAYLOAD, opts),
    (tell) => {
      told = tell;
    },
  );
  print({ times });
  await worker.close();
}
await queue.close();
process.exit(0);

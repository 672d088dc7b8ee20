import { Database } from "bun:sqlite";
import { bun, defineQueue, defineWorker } from "plainjob";
import { counter, job, PAYLOAD, pickups, print, timedSubmit, until } from "./common.ts";

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const queue = defineQueue({ connection: bun(new Database(job.url, { strict: true, create: true })), logger: silent });
const add = (_from: number, n: number) => queue.addMany("bench", Array(n).fill(PAYLOAD));

if (job.scenario === "submit") print({ rate: await timedSubmit(add) });
if (job.scenario === "drain") {
  const { all, count } = counter();
  await timedSubmit(add);
  const start = performance.now();
  const worker = defineWorker("bench", async () => count(), { queue, logger: silent });
  void worker.start();
  await all;
  await until(() => queue.countJobs({ type: "bench", status: 0 }) === 0 && queue.countJobs({ type: "bench", status: 1 }) === 0);
  print({ rate: (job.tasks / (performance.now() - start)) * 1_000 });
  void worker.stop();
}
if (job.scenario === "pickup") {
  let told = () => {};
  const worker = defineWorker("bench", async () => told(), { queue, logger: silent });
  void worker.start();
  const times = await pickups(
    () => queue.add("bench", PAYLOAD),
    (tell) => {
      told = tell;
    },
  );
  print({ times });
  void worker.stop();
}
process.exit(0);

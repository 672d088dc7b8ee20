import type { Bench } from "../harness.ts";
import { startControl } from "./control.ts";
import { addWorkload, batchBodies, SLUG, submitBodies } from "./load.ts";
import { compareRates } from "./rates.ts";

/** POST …/tasks/batch of 10,000 tasks each, one after the other over one connection; 256 bytes of `extra` a task. */
export const submit: Bench = (options) => {
  const tasks = options.tiny ? 2_000 : 100_000;
  return compareRates(options, {
    bench: "submit",
    metric: "batches of 10,000 over HTTP",
    targets: { sqlite: "≥ 150,000/s", postgres: "≥ 90,000/s" },
    scenario: "submit",
    tasks,
    peers: [
      { peer: "graphile", name: "graphile-worker addJobs" },
      { peer: "pg-boss", name: "pg-boss insert" },
      { peer: "bullmq", name: "BullMQ addBulk" },
      { peer: "plainjob", name: "plainjob addMany" },
    ],
    ours: async (stores, dialect) => {
      const control = await startControl(await stores.fresh(dialect));
      try {
        await addWorkload(control);
        await submitBodies(control, batchBodies(options.tiny ? 100 : 20_000, {}, tasks));
        const bodies = batchBodies(tasks);
        const start = performance.now();
        await submitBodies(control, bodies);
        const rate = (tasks / (performance.now() - start)) * 1_000;
        const counts = (await control.call("GET", `/workloads/${SLUG}/queue`)) as { total: number };
        if (counts.total < tasks) throw new Error("tasks are missing");
        return rate;
      } finally {
        await control.stop();
      }
    },
  });
};

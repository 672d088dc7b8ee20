import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { superviseProcess, until } from "#test/support/rigs/fleet-process.ts";
import type { Bench, Figure } from "../harness.ts";
import {
  type ControlProcess,
  DIALECTS,
  type Dialect,
  openStores,
  SHOWN,
  type Stores,
  startControl,
} from "./control.ts";
import { batchBodies, SLUG, submitBodies } from "./load.ts";
import { showRate } from "./rates.ts";

const MAIN = join(import.meta.dir, "../../../hub/main.ts");
const MODULE = `
def run(pk, extra, ctx):
    print("working on", pk)
    return {"length": len(extra["text"])}
`;
const BATCH = 100;
const DRAINED_MS = 120_000;

/** A worker process of one slot and its warm Python: every task prints a line, which is captured and stored. */
export const python: Bench = async ({ runs, tiny }) => {
  const tasks = tiny ? 200 : 20_000;
  const stores = await openStores();
  try {
    const figures: Figure[] = [];
    for (const dialect of DIALECTS) {
      const rates: number[] = [];
      for (let run = 0; run < runs; run += 1)
        rates.push(await pythonRate(stores, dialect, tasks, tiny ? 20 : 2_000));
      figures.push({
        bench: "python",
        metric: `warm python_module, 1 slot, capture on, ${SHOWN[dialect]}`,
        value: showRate(rates),
        target: "≥ 5,000/s",
        raw: rates,
      });
    }
    return figures;
  } finally {
    await stores.stop();
  }
};

async function pythonRate(stores: Stores, dialect: Dialect, tasks: number, warm: number) {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-bench-python-"));
  const source_path = join(dir, "bench_plugin.py");
  writeFileSync(source_path, MODULE);
  const control = await startControl(await stores.fresh(dialect));
  const worker = superviseProcess("worker", [process.execPath, MAIN, "worker"], {
    SVC_CONTROL_URL: control.url,
    SVC_SLOTS: "1",
    SVC_WORKER_ID: "bench",
    SVC_DATA_DIR: join(dir, "worker"),
    SVC_LOG_LEVEL: "warn",
  });
  try {
    await control.call("POST", "/workloads", {
      slug: SLUG,
      executor_type: "python_module",
      batch_size: BATCH,
      executor_config: { source_path, module: "bench_plugin" },
    });
    await submitBodies(control, batchBodies(warm, {}, tasks));
    await drained(control, warm, worker.tail);
    const enable = (enabled: boolean) =>
      control.call("PATCH", `/workloads/${SLUG}/enabled`, { enabled });
    await enable(false);
    await submitBodies(control, batchBodies(tasks));
    const start = performance.now();
    await enable(true);
    await drained(control, tasks, worker.tail);
    return (tasks / (performance.now() - start)) * 1_000;
  } finally {
    await worker.stop();
    await control.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const drained = (control: ControlProcess, tasks: number, tail: () => string) =>
  until(`the end of ${tasks} tasks`, DRAINED_MS, async () => {
    const counts = (await control.call("GET", `/workloads/${SLUG}/queue`)) as { total: number };
    return counts.total === 0;
  }).catch((err) => {
    throw new Error(`${err.message}\n${tail()}`);
  });

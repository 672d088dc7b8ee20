import { expect, test } from "bun:test";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { startPull } from "#worker/program/start-pull.ts";

const DEADLINE_MS = 60_000;

test(
  "a worker tells the CPU of itself and its host, and the GPUs that the nvidia-smi on its PATH prints (rules/pipeline-views#cpu-use)",
  async () => {
    const hub = await startTestHub({ mode: "control" });
    const bin = join(hub.root, "bin");
    await mkdir(bin);
    const tool = join(bin, "nvidia-smi");
    await writeFile(tool, "#!/bin/sh\necho '0, NVIDIA L4, 37, 6144, 23034'\n");
    await chmod(tool, 0o755);
    const env = {
      PATH: `${bin}:${process.env.PATH}`,
      SVC_DATA_DIR: join(hub.root, "worker"),
      SVC_CONTROL_URL: hub.url,
      SVC_WORKER_ID: "loaded",
      HUB_URL: "",
    };
    const config = loadWorkerConfig(env, {});
    const deps = { config, log: silentLog, clock: systemClock, version: "1" };
    const worker = await startPull(deps, hub.url, () => {});
    try {
      const ask = async (path: string) => (await hub.call("GET", `/api/v1/workers${path}`)).body;
      const end = Date.now() + DEADLINE_MS;
      for (;;) {
        const cpu = await ask("/cpu");
        const { series } = await ask("/metrics?minutes=2");
        if (cpu.workers[0]?.cpu_percent !== null && series.length > 0) break;
        if (Date.now() > end) throw new Error(`not told: ${JSON.stringify({ cpu, series })}`);
        await systemClock.sleep(100);
      }
      const host = hostname();
      const cpu = await ask("/cpu");
      expect(cpu.workers).toEqual([{ id: "loaded", host, cpu_percent: expect.any(Number) }]);
      expect(cpu.hosts).toEqual([{ host, cpu_percent: cpu.cluster_max }]);
      const { series } = await ask("/metrics?minutes=2");
      expect(series).toMatchObject([{ host, gpu: 0, name: "NVIDIA L4" }]);
      expect(series[0].points.at(-1)).toMatchObject({ util_percent: 37, mem_used_mb: 6144 });
    } finally {
      await worker.stop();
      await hub.close();
    }
  },
  DEADLINE_MS + 10_000,
);

import { expect, test } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inEmptyDir } from "#test/support/rigs/program.ts";
import { parseGpus, readGpus } from "#worker/tasks/gpus.ts";

test("GPU readings: what nvidia-smi cannot tell is null, lines that are no GPU are left out (rules/pipeline-views#gpu-metrics)", () => {
  expect(
    parseGpus("0, NVIDIA L4, 37, 512, 23034\n1, GRID T4, [N/A], 0, [Not Supported]\n\nfailed"),
  ).toEqual([
    { index: 0, name: "NVIDIA L4", util_percent: 37, mem_used_mb: 512, mem_total_mb: 23_034 },
    { index: 1, name: "GRID T4", util_percent: null, mem_used_mb: 0, mem_total_mb: null },
  ]);
});

test("GPU readings come from the nvidia-smi on PATH; without one, or when it fails, there are none (rules/pipeline-views#gpu-metrics)", () =>
  inEmptyDir(async (dir) => {
    const PATH = `${dir}:${process.env.PATH}`;
    expect(await readGpus(dir)).toEqual([]);
    const write = (script: string) =>
      writeFile(join(dir, "nvidia-smi"), `#!/bin/sh\n${script}\n`).then(() =>
        chmod(join(dir, "nvidia-smi"), 0o755),
      );
    await write('echo "3, L4, 5, 6, 7"');
    expect(await readGpus(PATH)).toMatchObject([{ index: 3, name: "L4", mem_used_mb: 6 }]);
    await write("echo 0, L4, 1, 2, 3; exit 9");
    expect(await readGpus(PATH)).toEqual([]);
  }));

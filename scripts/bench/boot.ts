import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { humanSize } from "#shared/kit/words.ts";
import { rssOf } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type Bench, type Figure, showMs, statsOf, timed } from "./harness.ts";
import { stubJobs } from "./stub-jobs.ts";

const BINARY = join(import.meta.dir, "../../dist/flotilla");

const runToEnd = async (argv: string[]) => {
  const child = Bun.spawn(argv, { stdout: "ignore", stderr: "ignore" });
  await child.exited;
};

/** Starts a hub from an empty directory and polls /health every 2 ms. */
async function startHubProcess() {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-boot-"));
  const port = freePort();
  const start = performance.now();
  const child = Bun.spawn([BINARY, "hub", "--host", "127.0.0.1", "--port", String(port)], {
    cwd: dir,
    stdout: "ignore",
    stderr: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => null);
    if (answer?.ok) break;
    if (performance.now() - start > 20_000) throw new Error("the hub did not start within 20 s");
    await Bun.sleep(2);
  }
  const ready_ms = performance.now() - start;
  return {
    url,
    pid: child.pid,
    ready_ms,
    stop: async () => {
      child.kill("SIGTERM");
      await child.exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const boot: Bench = async ({ runs, tiny }) => {
  if (!existsSync(BINARY)) throw new Error("dist/flotilla is missing: run ./scripts/build first");
  const version: number[] = [];
  const reference: number[] = [];
  const ready: number[] = [];
  for (let i = 0; i < runs; i += 1) {
    version.push((await timed(() => runToEnd([BINARY, "--version"]))).ms);
    reference.push((await timed(() => runToEnd([process.execPath, "--version"]))).ms);
    const hub = await startHubProcess();
    ready.push(hub.ready_ms);
    await hub.stop();
  }
  const hub = await startHubProcess();
  await Bun.sleep(tiny ? 100 : 3_000);
  const idle = rssOf(hub.pid);
  const jobs = tiny ? 50 : 10_000;
  await stubJobs(hub.url, { jobs, workers: 4, lanes: 4 });
  const warm = rssOf(hub.pid);
  await stubJobs(hub.url, { jobs, workers: 4, lanes: 4 });
  const grown = rssOf(hub.pid);
  await hub.stop();

  const v = statsOf(version);
  const r = statsOf(reference);
  const line = (
    metric: string,
    value: string,
    target: string,
    more: Partial<Figure> = {},
  ): Figure => ({
    bench: "boot",
    metric,
    value,
    target,
    ...more,
  });
  return [
    line("`--version`", showMs(v), "–", {
      reference: `bun --version ${showMs(r)}`,
      ratio: v.median / r.median,
    }),
    line("hub ready to answer /health", showMs(statsOf(ready)), "≤ 300 ms"),
    line("hub idle RSS", humanSize(idle), "≤ 120 MB"),
    line("binary size", humanSize(statSync(BINARY).size), "–"),
    line(
      `hub RSS growth over ${jobs} stub jobs, after as many to warm up`,
      humanSize(Math.max(0, grown - warm)),
      "≤ 10 MB",
    ),
  ];
};

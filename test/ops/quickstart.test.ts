import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { processesOf, until } from "#test/support/rigs/fleet-process.ts";
import {
  PATH_WITH_BUN,
  type Program,
  runProgram,
  startProgram,
} from "#test/support/rigs/program.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/**
 * The first command of a new user, in a clean clone: packages, dev mode, a job with its assets, and a Chromium in its
 * sandbox that is never root's, also when everything is started by root.
 */

const ROOT = join(import.meta.dir, "../..");
/** Packages, the app and a browser on a busy machine. */
const FIRST_MS = 400_000;

let dir: string;
let program: Program | null = null;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-clone-"));
  // Chromium's account passes through it.
  chmodSync(dir, 0o711);
});
afterAll(async () => {
  program?.kill("SIGTERM");
  await program?.exited;
  rmSync(dir, { recursive: true, force: true });
}, 300_000);

interface Owned {
  command: string;
  uids: string[];
  seccomp: string | undefined;
  /** How many namespaces of processes it is in, one within the other. */
  depth: number;
}

/** Chromium's processes below the clone that are there to stay. */
function chromium(): Owned[] {
  return processesOf(dir).flatMap(({ pid, command, state }) => {
    if (state === "Z" || !/\/chrom(e|ium)\b/.test(command)) return [];
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const field = (name: string) =>
        new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1]?.split(/\s+/) ?? [];
      const [seccomp] = field("Seccomp");
      return [{ command, uids: field("Uid"), seccomp, depth: field("NSpid").length }];
    } catch {
      return [];
    }
  });
}

test(
  "quickstart in a clean clone does a job, with a Chromium that is sandboxed and never root's",
  async () => {
    const clone = join(dir, "clone");
    const cloned = await runProgram(["git", "clone", "--quiet", ROOT, clone]);
    expect(cloned).toMatchObject({ code: 0 });
    expect(existsSync(join(clone, "node_modules"))).toBe(false);
    const [command = ""] = seededBlocks("start/install.md#one-command", 1);
    const flags = `--port 0 --data-dir ${join(dir, "data")} --lanes 1 --headless-lanes`;
    program = startProgram(["sh", "-c", `exec ${command.trim()} ${flags}`], {
      cwd: clone,
      env: {
        PATH: PATH_WITH_BUN,
        FLOTILLA_TEST: dir,
        ...lanePorts(),
      },
    });
    const { says } = program;
    await says("http://127.0.0.1:", FIRST_MS);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(program.stdout)?.[0] ?? "";
    const get = async <T>(path: string): Promise<T> =>
      (await fetch(url + path, { signal: AbortSignal.timeout(60_000) })).json() as Promise<T>;
    const [job] = await until("the first job", FIRST_MS, async () => {
      const { jobs } = await get<{ jobs: Job[] }>("/jobs");
      return jobs.some(({ finished_at }) => finished_at !== null) ? jobs : null;
    });
    expect(job).toMatchObject({ status: "completed", error: null });
    expect(job?.asset_count).toBeGreaterThan(0);
    // No lane opens the hub's own address, so that the demo page has another.
    expect(new URL(job?.url ?? "").port).not.toBe(new URL(url).port);

    const lane = await until("the lane's next browser", FIRST_MS, async () => {
      const { workers } = await get<{ workers: Worker[] }>("/workers");
      return workers.flatMap(({ lanes }) => lanes).find(({ state }) => state === "warm");
    });
    expect(lane.sandbox).toBe("on");
    const pages = await until("its processes under a filter for system calls", 60_000, () => {
      const found = chromium().filter(({ command }) => command.includes("--type=renderer"));
      // A renderer begins without its filter.
      return found.length > 0 && found.every(({ seccomp }) => seccomp === "2") && found;
    });
    for (const { command, uids } of chromium()) {
      expect(command).not.toContain("--no-sandbox");
      expect(uids).not.toContain("0");
    }
    // Besides the kernel's filter for system calls, a view of the machine's processes that ends at its own.
    for (const { depth } of pages) expect(depth).toBeGreaterThan(1);
    program.kill("SIGTERM");
    await program.exited;
    await until("the end of every process", 60_000, () =>
      processesOf(dir).every(({ state }) => state === "Z"),
    );
  },
  3 * FIRST_MS,
);

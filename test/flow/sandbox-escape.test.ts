import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { ScriptOutcome } from "#hub/fleet/runner/script-run.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type Program, startProgram } from "#test/support/rigs/program.ts";

/**
 * What a hostile script tries (rules/sandbox#no-network-and-no-files), in real sandboxes of a real hub that has to go on
 * answering.
 */

// Bombs take their time on a busy machine.
setDefaultTimeout(180_000);
/** What a hub may take to start beside other tests. */
const START_MS = 120_000;

const HOST = join(import.meta.dir, "../support/fakes/script-host.ts");
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;
/** Names the processes of this test among all others of the machine. */
const MARK = `flotilla-escape-${process.pid}`;

interface Host {
  hub: string;
  data_dir: string;
  pid: number;
  dir: string;
  program: Program;
  /** Times of GET /health since it started; null for one that failed. */
  health: (number | null)[];
  /** Those of a server beside it that does nothing else, as a measure of the machine. */
  beside: (number | null)[];
  run(code: string, options?: { timeout_ms?: number; goal?: string }): Promise<Ran>;
  stop(): Promise<void>;
}
type Ran = ScriptOutcome & { saved: number; rss: number };

const IDLE_SERVER =
  'console.log(Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() }).port)';

async function startHost(user: "root" | "nobody" | "self", dir = newDir(user)): Promise<Host> {
  const prefix =
    user === "nobody"
      ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
      : [];
  const program = startProgram([...prefix, process.execPath, HOST], {
    env: { HOME: dir, TMPDIR: dir, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
  });
  await program.says("\n", START_MS).catch((err) => {
    program.kill("SIGKILL");
    throw err;
  });
  const said = JSON.parse(program.stdout.split("\n")[0] ?? "");
  const idle = startProgram([process.execPath, "-e", IDLE_SERVER]);
  await idle.says("\n", START_MS);
  const over = new AbortController();
  const health: Host["health"] = [];
  const beside: Host["beside"] = [];
  const ask = async (url: string, into: (number | null)[]) => {
    const began = performance.now();
    const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) }).catch(() => null);
    if (!over.signal.aborted) into.push(answer?.ok ? performance.now() - began : null);
  };
  const watch = async () => {
    while (!over.signal.aborted) {
      await Promise.all([
        ask(`${said.hub}/health`, health),
        ask(`http://127.0.0.1:${idle.stdout.trim()}/`, beside),
      ]);
      await Bun.sleep(25);
    }
  };
  const watching = watch();
  return {
    ...said,
    dir,
    program,
    health,
    beside,
    run: async (code, options = {}) => {
      const body = JSON.stringify({ code, ...options });
      return (await fetch(said.run, { method: "POST", body })).json() as Promise<Ran>;
    },
    stop: async () => {
      over.abort();
      await watching;
      idle.kill("SIGKILL");
      program.kill("SIGTERM");
      await Promise.all([program.exited, idle.exited]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function newDir(user: string): string {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-escape-"));
  chmodSync(dir, 0o711);
  if (user === "nobody") chownSync(dir, NOBODY, NOBODY);
  return dir;
}

/** Processes of this machine that carry the mark, whoever they run as. */
const marked = (): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        Number(pid) !== process.pid &&
        readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(MARK)
      );
    } catch {
      return false;
    }
  });
/** Directories of runs that are there. */
const runsIn = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => name.startsWith("flotilla-run-"))
    .flatMap((name) => readdirSync(join(dir, name), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && entry.name !== "runtime")
    .map(({ parentPath, name }) => join(parentPath, name));

/** Code that collects what each attempt came to: its value, or the code of its error. */
const TRY = `
const found: Record<string, unknown> = {};
const attempt = async (name: string, work: () => unknown) => {
  try { found[name] = (await work()) ?? "done"; } catch (err) { found[name] = (err as { code?: string }).code ?? String(err); }
};
`;
const FFI = `
import { dlopen } from "bun:ffi";
const i = "i32", l = "i64", p = "ptr";
const libc = dlopen("libc.so.6", {
  ptrace: { args: [l, i, p, p], returns: l }, unshare: { args: [i], returns: i }, setuid: { args: [i], returns: i },
  mount: { args: [p, p, p, l, p], returns: i }, setns: { args: [i, i], returns: i },
}).symbols;
`;

/** Leaves a process that belongs to nobody, and does not end. */
const STAYS = `
import { spawn } from "node:child_process";
const loop = "for (;;) await new Promise((resolve) => setTimeout(resolve, 50))";
spawn("/run/flotilla", ["-e", loop, "${MARK}"], { detached: true, stdio: "ignore" }).unref();
await new Promise(() => {});`;

const USERS = IS_ROOT ? (["root", "nobody"] as const) : (["self"] as const);

for (const user of USERS)
  describe(`a hub that runs as ${user}`, () => {
    // What is bounded alike for every user is tried as one.
    const testOnce: (name: string, run: () => Promise<void>) => void =
      user === USERS[0] ? test : () => {};
    let host: Host;
    beforeAll(async () => {
      host = await startHost(user);
    });
    afterAll(async () => {
      await host?.stop();
    });

    test("files: nothing of the machine, the data directory or other runs is there, and nothing can be written but /tmp", async () => {
      const secret = join(host.data_dir, "secret");
      writeFileSync(secret, "x");
      const other = host.run(
        'import { session } from "flotilla"; await session.wait(1); await new Promise((r) => setTimeout(r, 1_500));',
      );
      const door = await until("a run beside it", 60_000, () => {
        const [run] = runsIn(host.dir);
        return run && existsSync(join(run, "d")) ? join(run, "d") : undefined;
      });
      const outcome = await host.run(
        `${TRY}
import { readFileSync, readdirSync, writeFileSync, unlinkSync, symlinkSync, chmodSync, mkdirSync } from "node:fs";
import { connect } from "node:net";
const { data, door } = JSON.parse((await import("flotilla")).goal);
for (const path of ["/etc/shadow", "/etc/passwd", "/proc/1/environ", data, "/proc/1/root" + data, "/proc/self/cwd/.." + data])
  await attempt("read " + path, () => readFileSync(path, "utf8").length);
await attempt("list /", () => readdirSync("/").sort().join(" "));
await attempt("list /run", () => readdirSync("/run").sort().join(" "));
for (const path of ["/x", "/app/script.ts", "/app/x", "/dev/x", "/run/x", "/run/flotilla", "/lib/x", "/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj2"])
  await attempt("write " + path, () => writeFileSync(path, "x"));
await attempt("delete the program", () => unlinkSync("/run/flotilla"));
await attempt("change the program", () => chmodSync("/run/flotilla", 0o777));
await attempt("write /tmp", () => writeFileSync("/tmp/x", "x"));
const dial = (path: string) => new Promise((resolve, reject) => {
  const socket = connect(path);
  socket.once("error", reject);
  socket.once("close", () => resolve("closed"));
});
await attempt("another job's door", () => dial(door));
await attempt("its own door a second time", () => dial("/run/door"));
export default found;`,
        { goal: JSON.stringify({ data: secret, door }) },
      );
      expect(outcome).toMatchObject({ end: "ok", sandbox: "bubblewrap" });
      const result = outcome.result as Record<string, unknown>;
      expect(result).toMatchObject({
        "list /": "app dev lib lib64 proc run tmp",
        "list /run": "door flotilla prlimit",
        "write /tmp": "done",
        "another job's door": "ENOENT",
      });
      // It is taken and closed at once.
      expect(["closed", "ECONNRESET"]).toContain(result["its own door a second time"] as string);
      const refused = Object.entries(result).filter(([name]) =>
        /^(read|write|delete|change) (?!\/tmp)/.test(name),
      );
      for (const [name, code] of refused)
        expect(`${name}: ${code}`).toMatch(/: (ENOENT|EACCES|EROFS|EPERM|0)$/);
      await other;
    });

    test("network: no address answers, the hub's own neither, no name is found", async () => {
      const lan =
        Object.values(networkInterfaces())
          .flat()
          .find((a) => a && !a.internal && a.family === "IPv4")?.address ?? "10.0.0.1";
      const outcome = await host.run(
        `${TRY}
import { connect } from "node:net";
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { job } from "flotilla";
const port = Number(new URL(job.url).port);
const dial = (host: string, port: number) => new Promise((resolve, reject) => {
  const socket = connect({ host, port, timeout: 2_000 });
  socket.once("connect", () => resolve("connected"));
  socket.once("timeout", () => resolve("timeout"));
  socket.once("error", reject);
});
await attempt("hub", () => dial("127.0.0.1", port));
await attempt("hub over fetch", async () => (await fetch(job.url + "/health")).status);
await attempt("LAN", () => dial("${lan}", port));
await attempt("internet", () => dial("192.0.2.1", 80));
await attempt("metadata", () => dial("169.254.169.254", 80));
await attempt("DNS", async () => (await lookup("example.org")).address);
await attempt("interfaces", () => Object.keys(networkInterfaces()).filter((name) => name !== "lo").join());
export default found;`,
      );
      expect(outcome.end).toBe("ok");
      const { interfaces, ...dialled } = outcome.result as Record<string, unknown>;
      expect(interfaces).toBe("");
      for (const [name, came] of Object.entries(dialled))
        expect(`${name}: ${came}`).toMatch(
          /: (ConnectionRefused|FailedToOpenSocket|DNS_\w+|E[A-Z_]+)$/,
        );
    });

    test("processes: the hub's cannot be seen, signalled or traced, and no right can be had", async () => {
      const outcome = await host.run(
        `${FFI}${TRY}
import { readdirSync, readFileSync } from "node:fs";
import { goal } from "flotilla";
await attempt("signal the hub", () => process.kill(Number(goal), "SIGKILL"));
await attempt("others", () => readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length);
await attempt("trace the hub", () => Number(libc.ptrace(16n, Number(goal), null, null)));
await attempt("become root", () => libc.setuid(0));
await attempt("another user namespace", () => libc.unshare(0x10000000));
await attempt("mount", () => libc.mount(Buffer.from("none\\0"), Buffer.from("/tmp\\0"), Buffer.from("tmpfs\\0"), 0n, null));
await attempt("processor time", () => /^Max cpu time\\s+(\\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))![1]);
await attempt("rights", () => /^CapEff:\\s+(\\w+)/m.exec(readFileSync("/proc/self/status", "utf8"))![1]);
await attempt("end its first process", () => process.kill(1, "SIGKILL"));
export default found;`,
        { goal: String(host.pid) },
      );
      expect(outcome).toMatchObject({
        end: "ok",
        result: {
          "signal the hub": "ESRCH",
          others: 2,
          "trace the hub": -1,
          "become root": -1,
          "another user namespace": -1,
          mount: -1,
          "processor time": expect.stringMatching(/^\d+$/),
          rights: "0000000000000000",
        },
      });
    });

    test("a fork bomb and processes that want to stay are bounded, and gone with the run", async () => {
      const outcome = await host.run(
        `
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
writeFileSync("/tmp/bomb.ts", \`import { spawn } from "node:child_process";
for (;;) { try { spawn("/run/flotilla", ["run", "/tmp/bomb.ts", "${MARK}"], { detached: true, stdio: "ignore" }).on("error", () => {}); } catch {} await new Promise((r) => setTimeout(r, 1)); }\`);
for (let i = 0; i < 3; i += 1) spawn("/run/flotilla", ["run", "/tmp/bomb.ts", "${MARK}"], { detached: true, stdio: "ignore" }).unref();
await new Promise((resolve) => setTimeout(resolve, 1_500));
export default "left them behind";`,
        { timeout_ms: 8_000 },
      );
      // As the bomb strikes, the script itself may fail for want of a thread.
      expect(["ok", "error", "limit", "timeout"]).toContain(outcome.end);
      expect(marked()).toEqual([]);
    });

    testOnce("a memory bomb ends as limit", async () => {
      const outcome = await host.run(
        "const kept: Uint8Array[] = [];\nfor (;;) { kept.push(new Uint8Array(8_000_000).fill(1)); await new Promise((r) => setTimeout(r, 1)); }",
      );
      expect(outcome).toMatchObject({
        end: "limit",
        detail: expect.stringMatching(/^the script used \d+ MB of memory, more than 512$/),
      });
    });

    test("files fill 64 MB in memory and no disk; many empty ones end as limit", async () => {
      const outcome = await host.run(
        `${TRY}
import { appendFileSync } from "node:fs";
let written = 0;
await attempt("fill", () => { for (let n = 0; ; n += 1) { appendFileSync("/tmp/" + (n % 3), Buffer.alloc(1_000_000)); written += 1; } });
export default { ...found, written };`,
      );
      expect(outcome).toMatchObject({ end: "ok", result: { fill: "ENOSPC" } });
      expect((outcome.result as { written: number }).written).toBeLessThan(68);
      const many = await host.run(
        'import { writeFileSync } from "node:fs";\nfor (let n = 0; ; n += 1) { writeFileSync("/tmp/" + n, ""); if (n % 500 === 0) await new Promise((r) => setTimeout(r, 0)); }',
      );
      expect(many).toMatchObject({
        end: "limit",
        detail: expect.stringMatching(/files, more than/),
      });
    });

    testOnce(
      "the door takes no more than it may: huge bodies and floods are refused or wait",
      async () => {
        const outcome = await host.run(
          `${TRY}
import { log, save, session } from "flotilla";
await attempt("huge", () => save("huge", new Uint8Array(40_000_000)));
await attempt("huge result", () => session.evaluate("x".repeat(34_000_000)));
await attempt("names", async () => (await save("../../etc/../x\\0y", "x") as { name: string }).name.length);
await attempt("unknown", () => (session as any).nothing());
const all = Array.from({ length: 2_300 }, (_, n) => log("flood " + n));
await Promise.all(all);
await attempt("after", () => session.text());
export default found;`,
          { timeout_ms: 30_000 },
        );
        expect(outcome).toMatchObject({
          end: "ok",
          result: {
            huge: expect.stringContaining("more bytes than are allowed"),
            "huge result": expect.stringContaining("more bytes than are allowed"),
            names: 16,
            after: "text",
          },
        });
        expect(outcome.rss).toBeLessThan(600_000_000);
      },
    );

    test("meanwhile the hub answered, and nothing is left: no process, no directory, no mount", async () => {
      const slow = (all: Host["health"]) => {
        const times = all.filter((ms) => ms !== null).toSorted((a, b) => a - b);
        return times[Math.floor(times.length * 0.95)] ?? 0;
      };
      expect(host.health.filter((ms) => ms === null)).toEqual([]);
      expect(host.health.length).toBeGreaterThan(20);
      expect(slow(host.health)).toBeLessThan(1_000 + 20 * slow(host.beside));
      expect(runsIn(host.dir)).toEqual([]);
      expect(readFileSync("/proc/mounts", "utf8")).not.toContain(host.dir);
      expect(marked()).toEqual([]);
    });

    testOnce(
      "a hub that is killed takes its sandboxes along; the next one removes their files",
      async () => {
        const dir = newDir(user);
        const first = await startHost(user, dir);
        const running = first.run(STAYS).catch(() => null);
        await until("a process in the sandbox", 60_000, () => marked().length > 0 || undefined);
        first.program.kill("SIGKILL");
        await first.program.exited;
        await running;
        await until("the end of the sandbox", 60_000, () => marked().length === 0 || undefined);
        expect(runsIn(dir).length).toBeGreaterThan(0);
        const second = await startHost(user, dir);
        expect(runsIn(dir)).toEqual([]);
        await second.stop();
        await first.stop();
      },
    );
  });

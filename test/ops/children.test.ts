import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addressOf, binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { inEmptyDir } from "#test/support/rigs/program.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/** What a caller's environment does to the program and to everything that the program starts. */

const flotilla = binaryRig();

const read = (path: string): string => {
  try {
    return readFileSync(path, "latin1").replaceAll("\0", "\n");
  } catch {
    return ""; // ended meanwhile
  }
};

function descendants(pid: number): number[] {
  const threads = (() => {
    try {
      return readdirSync(`/proc/${pid}/task`);
    } catch {
      return [];
    }
  })();
  const children = threads.flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
  return [...children, ...children.flatMap(descendants)];
}

test(
  "a caller's variables of the runtime reach neither the service nor anything it starts",
  () =>
    inEmptyDir(async (dir) => {
      const ran = join(dir, "ran");
      const preload = join(dir, "preload.ts");
      writeFileSync(
        preload,
        `require("node:fs").appendFileSync(${JSON.stringify(ran)}, process.pid + "\\n");`,
      );
      const args = ["dev", "--port", "0", "--headless-lanes", "--lanes", "1"];
      const hooks = { BUN_OPTIONS: `--preload=${preload}`, BUN_CONFIG_VERBOSE_FETCH: "curl" };
      // Nobody else's, and of no use to a browser or a task.
      const others = { NODE_OPTIONS: "--require=/nowhere.js", LD_AUDIT: "/nowhere.so" };
      const env = { ...hooks, ...others, HOME: dir, TMPDIR: dir, ...lanePorts() };
      const program = flotilla.start(args, { cwd: dir, env });
      const url = await addressOf(program);
      await program.says("lane warm");
      expect(program.stderr).toContain(
        "BUN_CONFIG_VERBOSE_FETCH, BUN_OPTIONS: not meant for Flotilla",
      );
      // Once, before the program's first line: in the process that then began anew.
      expect(read(ran).trim().split("\n")).toEqual([String(program.pid)]);
      const below = descendants(program.pid);
      expect(below.length).toBeGreaterThan(2);
      for (const pid of [program.pid, ...below])
        expect(read(`/proc/${pid}/environ`)).not.toMatch(/^BUN_(OPTIONS|CONFIG_VERBOSE_FETCH)=/m);
      const browsers = below.filter((pid) => /chrom/.test(read(`/proc/${pid}/cmdline`)));
      expect(browsers.length).toBeGreaterThan(0);
      for (const pid of browsers)
        expect(read(`/proc/${pid}/environ`)).not.toMatch(/^(NODE_OPTIONS|LD_AUDIT)=/m);
      // fetch() of the runtime would have printed every call as a command line, tokens included.
      expect(program.stderr).not.toMatch(/curl --http/);

      const call = (path: string, body: unknown) =>
        fetch(`${url}/api/v1${path}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      const argv = ["sh", "-c", 'env | tr "\\n" " " | sed \'s/.*/"&"/\''];
      await call("/workloads", {
        slug: "env",
        executor_type: "command",
        executor_config: { argv },
      });
      await call("/workloads/env/tasks", { pk: "one" });
      const run = await until("the run", 60_000, async () => {
        const { runs } = (await (await fetch(`${url}/api/v1/workloads/env/runs`)).json()) as {
          runs: unknown[];
        };
        return runs[0];
      });
      expect(JSON.stringify(run)).toContain("PATH=");
      expect(JSON.stringify(run)).not.toMatch(/BUN_|NODE_OPTIONS|LD_AUDIT/);
      expect(await flotilla.end(program, "SIGTERM")).toBe(0);
    }),
  180_000,
);

test("a command does its work without the caller's variables of the runtime", () =>
  inEmptyDir(async (dir) => {
    const { code, stdout, stderr } = await flotilla.run(["--version"], {
      cwd: dir,
      env: { BUN_JSC_useJIT: "0", BUN_INSTALL: "/home/dev/.bun" },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^flotilla [0-9a-f]{12}\n$/);
    expect(stderr).toBe("flotilla: BUN_JSC_useJIT: not meant for Flotilla; restarted without\n");
  }));

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { cleanEnv, PROGRAM, runProgram, startProgram } from "#test/support/rigs/program.ts";

/** The program itself on a terminal, which script(1) makes, and beside none. */

const SLOW_MS = 120_000;

let hub: TestHub;
let dir: string;
beforeAll(async () => {
  hub = await startTestHub();
  await hub.call("POST", "/jobs", { url: TARGET });
  dir = await mkdtemp(join(tmpdir(), "flotilla-terminal-"));
});
afterAll(async () => {
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** What is shown on a terminal, in which `keys` are typed once something is there. */
async function onTerminal(
  args: string[],
  env: Record<string, string> = {},
  keys: string | null = null,
): Promise<{ code: number; text: string }> {
  const line = ["stty cols 100 rows 30;", ...[...PROGRAM, ...args].map(quoted)].join(" ");
  const child = Bun.spawn(["script", "-qec", line, "/dev/null"], {
    cwd: dir,
    env: { ...cleanEnv({ SVC_HUB: hub.url, TERM: "xterm", NO_COLOR: undefined }), ...env } as never,
    stdin: keys === null ? "ignore" : "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  let text = "";
  const decoder = new TextDecoder();
  let typed = keys === null;
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (typed || !text.includes("lanes")) continue;
    typed = true;
    child.stdin?.write(keys ?? "");
    child.stdin?.flush();
  }
  return { code: await child.exited, text };
}

const hasScript = Bun.which("script") !== null;

describe("colours (rules/clients#output-of-commands)", () => {
  test.skipIf(!hasScript)(
    "of a list appear on a terminal, not with NO_COLOR, and not in a pipe",
    async () => {
      const shown = await onTerminal(["jobs"]);
      expect(shown.code).toBe(0);
      expect(shown.text).toContain("\u001b[1mJOB");
      expect(shown.text).toContain("\u001b[33mqueued");
      const plain = await onTerminal(["jobs"], { NO_COLOR: "1" });
      expect(plain.text).not.toContain("\u001b[");
      const env = { SVC_HUB: hub.url };
      const piped = await runProgram([...PROGRAM, "jobs"], { env, cwd: dir });
      expect(piped.stdout).toMatch(/^JOB +STATUS/);
      expect(piped.stdout).not.toContain("\u001b");
    },
    SLOW_MS,
  );
});

describe("flotilla top (rules/clients#top)", () => {
  test.skipIf(!hasScript)(
    "ends with q on a real terminal and gives its screen back",
    async () => {
      const { code, text } = await onTerminal(["top"], {}, "q");
      expect(code).toBe(0);
      expect(text).toContain("\u001b[?1049h");
      expect(text).toContain("flotilla top  ");
      expect(text.trimEnd()).toEndWith("\u001b[?1049l");
    },
    SLOW_MS,
  );
});

test(
  "what follows ends when nobody reads it any longer (rules/clients#output-of-commands)",
  async () => {
    const body = { slug: "read", executor_type: "command", executor_config: { argv: ["true"] } };
    await hub.call("POST", "/api/v1/workloads", body);
    const follow = [...PROGRAM, "queue", "read", "--watch", "--json"].map(quoted).join(" ");
    const line = ["bash", "-c", `set -o pipefail; ${follow} | head -1`];
    const followed = startProgram(line, { env: { SVC_HUB: hub.url }, cwd: dir });
    let is_over = false;
    const ended = followed.exited.finally(() => {
      is_over = true;
    });
    await followed.says("pending");
    // Each task is a line more, and head has left after the first.
    for (let n = 0; !is_over; n += 1)
      await hub.call("POST", "/api/v1/workloads/read/tasks/batch", { items: [{ pk: String(n) }] });
    expect({ code: await ended, err: followed.stderr }).toEqual({ code: 130, err: "" });
    expect(followed.stdout.trim().split("\n")).toHaveLength(1);
  },
  SLOW_MS,
);

describe("errors (rules/clients#errors-of-commands)", () => {
  test(
    "say on standard error what to try, with the code for it",
    async () => {
      const run = (...args: string[]) =>
        runProgram([...PROGRAM, ...args], { env: { SVC_HUB: hub.url }, cwd: dir });
      expect(await run("jbos")).toEqual({
        code: 2,
        stdout: "",
        stderr: 'flotilla: unknown mode or command "jbos"\ntry: flotilla jobs\n',
      });
      expect(await run("cancel", "0123456789abcd")).toEqual({
        code: 1,
        stdout: "",
        stderr: "flotilla: job not found\ntry: flotilla jobs\n",
      });
      const away = await run("jobs", "--hub", "http://127.0.0.1:1");
      expect(away.code).toBe(3);
      expect(away.stderr).toContain("\ntry: flotilla dev starts a hub");
      const { code, stdout } = await run("completions", "bash");
      expect({ code, is_script: stdout.includes("complete -F _flotilla flotilla") }).toEqual({
        code: 0,
        is_script: true,
      });
    },
    SLOW_MS,
  );
});

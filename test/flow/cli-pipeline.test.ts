import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientCommand } from "#hub/program/cli/commands.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { cleanEnv, PROGRAM } from "#test/support/rigs/program.ts";
import { startPullWorker } from "#worker/tasks/pull.ts";

/** flotilla submit, queue and runs against a served control plane, with a pull worker beside it. */

let hub: TestHub;
let dir: string;
let made = 0;
beforeAll(async () => {
  hub = await startTestHub();
  dir = await mkdtemp(join(tmpdir(), "flotilla-submit-"));
});
afterAll(async () => {
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

async function addWorkload(argv = ["true"], more: Record<string, unknown> = {}): Promise<string> {
  const slug = `cli-${++made}`;
  const body = { slug, executor_type: "command", executor_config: { argv }, ...more };
  expect((await hub.call("POST", "/api/v1/workloads", body)).status).toBe(201);
  return slug;
}
const counts = async (slug: string) =>
  (await hub.call("GET", `/api/v1/workloads/${slug}/queue`)).body;

function startWorker(): void {
  const worker = startPullWorker({
    control_url: hub.url,
    worker_id: `cli-worker-${made}`,
    slots: 2,
    dir,
    version: "1",
    secret: null,
    api_token: null,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    environment: { PATH: process.env.PATH ?? "" },
  });
  cleanups.push(() => worker.stop(0));
}

interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs a command; `watch` sees what it has printed so far and may end it as Ctrl-C would. */
async function run(
  command: ClientCommand,
  words: string[],
  flags: Record<string, string[]> = {},
  watch: (seen: Ran, interrupt: () => void) => void = () => {},
  live = false,
): Promise<Ran> {
  const interrupt = new AbortController();
  const seen = { code: -1, out: "", err: "" };
  const keep = (to: "out" | "err") => (text: string) => {
    seen[to] += text;
    watch(seen, () => interrupt.abort());
  };
  const terminal: Terminal = {
    out: keep("out"),
    err: keep("err"),
    width: live ? 100 : null,
    live,
    liveWidth: 120,
  };
  const env = { SVC_HUB: hub.url };
  seen.code = await runClientCommand(command, words, flags, env, terminal, interrupt.signal).catch(
    (err) => {
      // What hub/main.ts does with a usage error.
      seen.err += err.message;
      return 2;
    },
  );
  return seen;
}
const write = async (name: string, lines: string[]): Promise<string> => {
  const path = join(dir, name);
  await Bun.write(path, lines.join("\n"));
  return path;
};

describe("flotilla submit", () => {
  test("takes keys as words and tells duplicates; --json prints what became of them", async () => {
    const slug = await addWorkload();
    expect(await run("submit", [slug, "a", "b/c"])).toMatchObject({
      code: 0,
      out: "2 tasks submitted\n",
    });
    const again = await run("submit", [slug, "a", "d"], { json: ["1"] });
    expect(JSON.parse(again.out)).toEqual({ workload: slug, submitted: 1, duplicates: 1 });
    expect((await counts(slug)).pending).toBe(3);
  });

  test("a file of 25,001 lines goes in batches of at most 10,000 (rules/clients#tasks-of-a-file)", async () => {
    const slug = await addWorkload();
    const lines = Array.from({ length: 25_001 }, (_, i) =>
      i % 2 ? `key ${i}` : JSON.stringify({ pk: `key ${i}`, extra: { i }, priority: i % 5 }),
    );
    const file = await write("many.jsonl", lines);
    const { code, out, err } = await run("submit", [slug], { file: [file] });
    expect({ code, out }).toEqual({ code: 0, out: "25,001 tasks submitted\n" });
    expect(err.match(/tasks submitted/g)).toHaveLength(3);
    expect((await counts(slug)).pending).toBe(25_001);
  });

  test("a line the control plane refuses is named with its field, and what was submitted before it", async () => {
    const slug = await addWorkload();
    const lines = Array.from({ length: 10_050 }, (_, i) => `key ${i}`);
    lines[10_020] = '{"pk": "bad", "extra": 5, "colour": "red"}';
    const file = await write("refused.jsonl", lines);
    const { code, out, err } = await run("submit", [slug], { file: [file] });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`${file}:10021: extra must be an object`);
    expect(err).toContain(`${file}:10021: colour is an unknown key`);
    expect(err).toContain(`10,000 tasks submitted, the last is ${file}:10000`);
    expect((await counts(slug)).total).toBe(10_000);
  });

  test("a line that is no JSON stops it before anything of its batch is sent", async () => {
    const slug = await addWorkload();
    const file = await write("broken.jsonl", ["a", '{"pk": "b"']);
    const { code, err, out } = await run("submit", [slug], { file: [file], json: ["1"] });
    expect(code).toBe(2);
    expect(err).toContain(`${file}:2: is not valid JSON`);
    expect(err).toContain("nothing was submitted");
    expect(JSON.parse(out)).toMatchObject({ submitted: 0, error: expect.stringContaining(":2:") });
    expect((await counts(slug)).total).toBe(0);
  });

  test("standard input is read with -, by the program itself", async () => {
    const slug = await addWorkload();
    const child = Bun.spawn([...PROGRAM, "submit", slug, "-"], {
      env: cleanEnv({ SVC_HUB: hub.url }),
      stdin: new Blob(['one\n{"pk": "two"}\n']),
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await new Response(child.stdout).text()).toBe("2 tasks submitted\n");
    expect(await child.exited).toBe(0);
    expect((await counts(slug)).pending).toBe(2);
  });

  test("--wait drains the queue and exits 0, or 1 when tasks failed", async () => {
    startWorker();
    const good = await addWorkload();
    const done = await run("submit", [good, "a", "b", "c"], { wait: ["1"] });
    expect(done).toMatchObject({
      code: 0,
      out: "3 tasks submitted; 0 pending, 0 claimed, 0 failed\n",
    });
    const bad = await addWorkload(["false"], { max_attempts: 1 });
    const failed = await run("submit", [bad, "x"], { wait: ["1"], json: ["1"] });
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.out)).toMatchObject({ submitted: 1, queue: { failed: 1, total: 1 } });
  });

  test("--wait is about the submitted keys alone: neither old failures nor tasks of others count, nor are waited for", async () => {
    startWorker();
    const argv = ["sh", "-c", "read t; case $t in *bad*) exit 3;; esac"];
    const slug = await addWorkload(argv, { max_attempts: 1 });
    expect((await run("submit", [slug, "bad-old"], { wait: ["1"] })).code).toBe(1);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const theirs = { pk: "theirs", run_at: later };
    await hub.call("POST", `/api/v1/workloads/${slug}/tasks`, theirs);
    const { code, out } = await run("submit", [slug, "a", "b"], { wait: ["1"] });
    expect({ code, out }).toEqual({
      code: 0,
      out: "2 tasks submitted; 0 pending, 0 claimed, 0 failed\n",
    });
    expect(await counts(slug)).toMatchObject({ pending: 1, failed: 1 });
    // One that is in the queue already was submitted too.
    const again = await run("submit", [slug, "bad-old", "c"], { wait: ["1"], json: ["1"] });
    expect(again.code).toBe(1);
    expect(JSON.parse(again.out)).toEqual({
      workload: slug,
      submitted: 1,
      duplicates: 1,
      queue: { pending: 0, claimed: 0, failed: 1, total: 1 },
    });
  }, 180_000);

  test("--wait draws a bar on a terminal, and Ctrl-C ends the waiting, not the tasks", async () => {
    const slug = await addWorkload();
    const watch = (seen: Ran, interrupt: () => void) => seen.err.includes("░") && interrupt();
    const { code, err } = await run("submit", [slug, "a", "b"], { wait: ["1"] }, watch, true);
    expect(code).toBe(130);
    expect(err).toContain("0/2, 0 running");
    expect((await counts(slug)).pending).toBe(2);
  });

  test("--wait says so when nothing moves and nobody runs anything, and why", async () => {
    const slug = await addWorkload(["true"], { enabled: false });
    const watch = (seen: Ran, interrupt: () => void) =>
      seen.err.includes("switched off") && interrupt();
    const { code, err } = await run("submit", [slug, "a"], { wait: ["1"] }, watch);
    expect(code).toBe(130);
    expect(err).toContain(`nothing will move: ${slug} is switched off (enabled: false)`);
  }, 180_000);

  test("mistakes have exit codes of their own", async () => {
    const slug = await addWorkload();
    expect(await run("submit", ["nowhere", "a"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("workload not found"),
    });
    expect((await run("submit", [slug])).code).toBe(2);
    expect((await run("submit", [slug, "a"], { file: ["x"] })).code).toBe(2);
    expect((await run("submit", [slug], { file: [join(dir, "none")] })).err).toContain(
      "does not exist",
    );
    const env = { SVC_HUB: "http://127.0.0.1:1" };
    const terminal = { out: () => {}, err: () => {}, width: null, live: false, liveWidth: 80 };
    const { signal } = new AbortController();
    expect(await runClientCommand("queue", [slug], {}, env, terminal, signal)).toBe(3);
  });
});

describe("flotilla queue", () => {
  test("prints the counts, as a table or as JSON", async () => {
    const slug = await addWorkload();
    await run("submit", [slug, "a", "b"]);
    const { out } = await run("queue", [slug]);
    expect(out).toMatch(/WORKLOAD +PENDING +CLAIMED +FAILED +TOTAL\n.+ +2 +0 +0 +2\n/);
    const { out: json } = await run("queue", [slug], { json: ["1"] });
    expect(JSON.parse(json)).toEqual({ pending: 2, claimed: 0, failed: 0, total: 2 });
  });

  test("--watch tells every change until Ctrl-C", async () => {
    const slug = await addWorkload();
    let sent: Promise<unknown> | undefined;
    const watching = run("queue", [slug], { watch: ["1"], json: ["1"] }, (seen, interrupt) => {
      sent ??= hub.call("POST", `/api/v1/workloads/${slug}/tasks`, { pk: "a" });
      if (seen.out.includes('"pending":1')) interrupt();
    });
    const { code, out } = await watching;
    await sent;
    expect(code).toBe(130);
    expect(
      out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).pending),
    ).toEqual([0, 1]);
  });
});

describe("flotilla runs", () => {
  test("lists runs newest first, only the failed ones when asked, and as JSON", async () => {
    startWorker();
    const slug = await addWorkload(
      ["sh", "-c", "read t; case $t in *bad*) exit 3;; esac; echo '{\"n\": 1}'"],
      {
        max_attempts: 1,
      },
    );
    await run("submit", [slug, "good", "bad"], { wait: ["1"] });
    const { out } = await run("runs", [slug]);
    expect(out.split("\n")[0]).toMatch(/RUN +KEY +TRY +OUTCOME +WORKER +STARTED +TOOK +RESULT/);
    expect(out).toMatch(/good +1 +success .* ms +\{"n":1\}/);
    const { out: failed } = await run("runs", [slug], { failed: ["1"], json: ["1"] });
    expect(JSON.parse(failed).runs).toMatchObject([{ pk: "bad", success: false }]);
    const { out: one } = await run("runs", [slug], { limit: ["1"], json: ["1"] });
    expect(JSON.parse(one).runs).toHaveLength(1);
    expect((await run("runs", [await addWorkload()])).out).toBe("no runs\n");
  });

  test("a limit the control plane refuses is a usage error that names it", async () => {
    const slug = await addWorkload();
    for (const limit of ["0", "abc", "501"])
      expect(await run("runs", [slug], { limit: [limit] })).toMatchObject({
        code: 2,
        err: expect.stringContaining("limit"),
      });
  });

  test("--follow prints the last runs, then each that is recorded, until Ctrl-C", async () => {
    startWorker();
    const slug = await addWorkload();
    await run("submit", [slug, "first"], { wait: ["1"] });
    let sent: Promise<unknown> | undefined;
    const { code, out } = await run("runs", [slug], { follow: ["1"] }, (seen, interrupt) => {
      sent ??= hub.call("POST", `/api/v1/workloads/${slug}/tasks`, { pk: "second" });
      if (seen.out.includes("second")) interrupt();
    });
    await sent;
    expect(code).toBe(130);
    expect(out.trim().split("\n")).toEqual([
      expect.stringMatching(/first .*success/),
      expect.stringMatching(/second .*success/),
    ]);
  });
});

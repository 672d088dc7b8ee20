import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CliOptions, type Ran, runCli } from "#test/support/rigs/cli.ts";
import { askUntil, createPullRig, type RigWorker } from "#test/support/rigs/pull-rig.ts";

/** `flotilla workloads`, `tasks`, `retry` and `logs` of a pipeline with a real pull worker. */

const rig = createPullRig();
let dir: string;
let made = 0;
beforeAll(async () => {
  await rig.start();
  dir = await rig.tempDir();
});
afterAll(() => rig.close());
const workers: RigWorker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop(0);
});
const startWorker = async (): Promise<void> => {
  workers.push(await rig.worker({ worker_id: `cli-${++made}` }));
};

const run = (line: string[], options?: CliOptions): Promise<Ran> =>
  runCli(rig.hub().url, line, options);
const json = async (line: string[]) => JSON.parse((await run([...line, "--output", "json"])).out);

const file = async (name: string, text: string): Promise<string> => {
  const path = join(dir, name);
  await writeFile(path, text);
  return path;
};

/** A workload of a program, made by the command itself. */
async function addWorkload(argv: string[], more: Record<string, unknown> = {}): Promise<string> {
  const slug = `own-${++made}`;
  const body = { slug, executor_type: "command", executor_config: { argv }, ...more };
  const path = await file(`${slug}.json`, JSON.stringify(body));
  expect(await run(["workloads", "create", "-f", path])).toEqual({
    code: 0,
    out: `workload ${slug} created\n`,
    err: "",
  });
  return slug;
}
const submit = async (slug: string, ...pks: string[]): Promise<void> => {
  expect(await run(["submit", slug, ...pks])).toMatchObject({ code: 0 });
};
const settled = (slug: string) =>
  askUntil(`the end of ${slug}`, async () => {
    const { pending, claimed } = await json(["queue", slug]);
    return pending + claimed === 0;
  });

describe("flotilla workloads (rules/clients#workloads-and-tasks-by-command)", () => {
  test("makes one of JSON, YAML and TOML, and shows and lists it", async () => {
    const yaml = await file(
      "thumbs.yaml",
      "slug: thumbs\nname: Thumbnails\nexecutor_type: command\nexecutor_config:\n  argv: [echo, hello]\nmax_attempts: 2\nschedule: 0 7 * * *\n",
    );
    const toml = await file(
      "sizes.toml",
      'slug = "sizes"\nexecutor_type = "command"\nenabled = false\n[executor_config]\nargv = ["wc"]\n',
    );
    expect(await run(["workloads", "create", "--file", yaml])).toMatchObject({ code: 0 });
    expect(await json(["workloads", "create", "--file", toml])).toMatchObject({ slug: "sizes" });

    const shown = await run(["workloads", "show", "thumbs"]);
    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(/^workload +thumbs$/m);
    expect(shown.out).toMatch(/^executor +command, echo hello$/m);
    expect(shown.out).toMatch(/^schedule +0 7 \* \* \* \(UTC\)$/m);
    expect(shown.out).not.toMatch(/^timeout/m);

    await submit("thumbs", "a", "b");
    const { out } = await run(["workloads"]);
    expect(out.split("\n")[0]).toMatch(/^WORKLOAD +STATE +EXECUTOR +PENDING/);
    expect(out).toMatch(/^thumbs +on +command +2 +0 +0 +0 .* Thumbnails$/m);
    expect(out).toMatch(/^sizes +paused +command +0/m);
    const { workloads } = await json(["workloads", "list"]);
    expect(workloads.map(({ slug }: { slug: string }) => slug)).toEqual(
      expect.arrayContaining(["thumbs", "sizes"]),
    );
  });

  test("pauses and resumes it, and replaces it by its own record with a change", async () => {
    const slug = await addWorkload(["true"]);
    const paused = await run(["workloads", "pause", slug]);
    expect(paused.out).toBe(`workload ${slug} paused: what runs goes on, and nothing new begins\n`);
    expect(await json(["workloads", "show", slug])).toMatchObject({ enabled: false });
    expect((await run(["workloads", "resume", slug])).out).toBe(`workload ${slug} resumed\n`);
    const record = await json(["workloads", "show", slug]);
    const path = await file("change.json", JSON.stringify({ ...record, priority: 7 }));
    expect((await run(["workloads", "update", slug, "-f", path])).out).toBe(
      `workload ${slug} replaced\n`,
    );
    expect(await json(["workloads", "show", slug])).toMatchObject({ enabled: true, priority: 7 });
  });

  test("deletes it only when it is told that this is meant", async () => {
    const slug = await addWorkload(["true"]);
    expect(await run(["workloads", "delete", slug])).toEqual({
      code: 2,
      out: "",
      err: `flotilla: this deletes workload ${slug} with its queue: add --yes\ntry: flotilla workloads delete ${slug} --yes\n`,
    });
    expect((await run(["workloads", "delete", slug, "--yes"])).out).toBe(
      `workload ${slug} deleted; its runs stay\n`,
    );
    const gone = await run(["workloads", "show", slug]);
    expect(gone).toMatchObject({ code: 1, out: "" });
    expect(gone.err).toEndWith("try: flotilla workloads\n");
  });

  test("what is wrong is said, with exit code 2, and what helps", async () => {
    const bad = await file("bad.json", '{"slug": "x", "executor_type": "commando"}');
    const broken = await file("broken.yaml", "slug: [");
    const list = await file("list.json", "[]");
    const rows: [string[], string][] = [
      [["workloads", "create"], "needs --file FILE"],
      [["workloads", "create", "-f", bad], "executor_type"],
      [["workloads", "create", "-f", broken], "cannot be read"],
      [["workloads", "create", "-f", list], "must hold one object"],
      [["workloads", "create", "-f", join(dir, "none.json")], "does not exist"],
      [["workloads", "create", "-f", dir], "is a directory"],
      [["workloads", "create", "slug", "-f", bad], 'unexpected word "slug"'],
      [["workloads", "show"], "needs SLUG"],
      [["workloads", "show", "a", "--yes"], "--yes is not for workloads show"],
      [["workloads", "pause", "a", "b"], "unexpected word"],
      [["workloads", "stop", "a"], "workloads takes list, show, create"],
    ];
    for (const [line, says] of rows) {
      const { code, out, err } = await run(line);
      expect({ line, code, out }).toEqual({ line, code: 2, out: "" });
      expect(err).toContain(says);
    }
  });
});

describe("flotilla tasks (rules/clients#workloads-and-tasks-by-command)", () => {
  test("lists those of a state, page after page, and cancels some by their keys", async () => {
    const slug = await addWorkload(["true"]);
    const names = Array.from({ length: 230 }, (_, i) => `key-${i}`);
    await submit(slug, ...names);
    const { rows } = await json(["tasks", "list", slug, "--limit", "220"]);
    expect(rows).toHaveLength(220);
    expect(new Set(rows.map(({ pk }: { pk: string }) => pk)).size).toBe(220);
    const few = await run(["tasks", "list", slug, "--state", "pending", "--limit", "2"]);
    expect(few.out.split("\n")).toHaveLength(4);
    expect(few.out).toMatch(/^KEY +STATE +TRY/);
    expect((await run(["tasks", "list", slug, "--state", "failed"])).out).toBe("no tasks\n");

    const cancelled = await run(["tasks", "cancel", slug, "key-0", "none", "key-1"]);
    expect(cancelled.out).toBe("task key-0 cancelled\ntask key-1 cancelled\n");
    expect(cancelled.code).toBe(1);
    expect(cancelled.err).toContain("try: flotilla tasks list SLUG");
    expect(await json(["tasks", "cancel", slug, "key-2"])).toEqual({ cancelled: ["key-2"] });
    expect(await json(["queue", slug])).toMatchObject({ pending: 227 });
  });

  test("shows a task with every attempt, and a colour only on a terminal that has them", async () => {
    const slug = await addWorkload(["sh", "-c", "echo broken >&2; exit 3"], {
      max_attempts: 2,
      backoff: { kind: "fixed", base_s: 0, jitter: 0 },
    });
    await run(["submit", slug, "k", "--label", "team:growth"]);
    await startWorker();
    await settled(slug);
    const shown = await run(["tasks", "show", slug, "k"]);
    expect(shown.out).toMatch(/^state +failed$/m);
    expect(shown.out).toMatch(/^labels +team:growth$/m);
    expect(shown.out.match(/^ *\d+ +[12] +error/gm)).toHaveLength(2);
    const terminal = { width: 160, colours: true };
    const painted = await run(["tasks", "show", slug, "k"], { terminal });
    expect(painted.out).toContain("\u001b[31merror");
    expect(shown.out).not.toContain("\u001b");
    expect(await json(["tasks", "show", slug, "k"])).toMatchObject({ attempts: [{}, {}] });
  });

  test("what does not go together is refused", async () => {
    const rows: [string[], string][] = [
      [["tasks", "list"], "tasks needs list|show|cancel SLUG"],
      [["tasks", "list", "a", "b"], 'unexpected word "b"'],
      [["tasks", "show", "a"], "needs SLUG and a key"],
      [["tasks", "show", "a", "b", "c"], 'unexpected word "c"'],
      [["tasks", "cancel", "a", "b", "--state", "failed"], "--state is not for tasks cancel"],
      [["tasks", "list", "a", "--state", "lost"], "is not pending or claimed"],
      [["tasks", "list", "a", "--limit", "0"], "--limit must be a whole number from 1"],
    ];
    for (const [line, says] of rows) {
      const { code, err } = await run(line);
      expect({ line, code }).toEqual({ line, code: 2 });
      expect(err).toContain(says);
    }
  });
});

describe("flotilla retry of tasks (rules/clients#retry-by-command)", () => {
  test("makes tasks ready by their keys, and the task of a run by the run", async () => {
    const slug = await addWorkload(["false"], { max_attempts: 1 });
    await submit(slug, "a", "b");
    await startWorker();
    await settled(slug);
    await workers.splice(0)[0]?.stop(0);
    expect(await json(["queue", slug])).toMatchObject({ failed: 2 });

    const one = await run(["retry", slug, "a"]);
    expect(one).toMatchObject({
      code: 0,
      out: "task a is ready again, with all its attempts\n",
    });
    const { runs } = await json(["runs", slug]);
    const of_b = runs.find(({ pk }: { pk: string }) => pk === "b");
    expect(await json(["retry", String(of_b.run_id)])).toEqual({ workload: slug, retried: ["b"] });
    expect(await json(["queue", slug])).toMatchObject({ pending: 2, failed: 0 });

    // It is pending now: nothing to retry.
    const again = await run(["retry", slug, "a"]);
    expect(again).toMatchObject({ code: 1, out: "" });
  });

  test("a name without keys, and ids with filters, are refused", async () => {
    const alone = await run(["retry", "own-x"]);
    expect(alone.code).toBe(2);
    expect(alone.err).toContain("try: flotilla retry own-x KEY…");
    const both = await run(["retry", "own-x", "k", "--text", "timeout"]);
    expect(both).toMatchObject({ code: 2 });
    expect(both.err).toContain("--text is not for a retry by id");
  });
});

/** A line of a service's log. */
const ship = (message: string, level = "info") =>
  rig.api("POST", "/service-logs", {
    host: "gpu-1",
    service: "worker",
    logs: [{ ts: new Date().toISOString(), level, message, fields: { slots: 4 } }],
  });

describe("flotilla logs of runs and tasks (rules/clients#logs-by-command)", () => {
  test("a run's output goes to standard output, the rest beside it, and the exit code tells how it ended", async () => {
    const slug = await addWorkload(
      ["sh", "-c", "printf 'one\\033[2J\\r\\ntwo\\n'; echo oops >&2; exit 1"],
      { max_attempts: 1 },
    );
    await submit(slug, "k");
    await startWorker();
    await settled(slug);
    const { runs } = await json(["runs", slug]);
    const shown = await run(["logs", String(runs[0].run_id)]);
    expect(shown.code).toBe(1);
    expect(shown.out).toBe("one?[2J\ntwo\n");
    expect(shown.err).toStartWith("oops\n");
    expect(shown.err).toMatch(/^run \d+: error after \d+ ms, attempt 1/m);
    expect(await json(["logs", String(runs[0].run_id)])).toMatchObject({ pk: "k" });
    const of_task = await run(["logs", slug, "k"]);
    expect({ code: of_task.code, out: of_task.out }).toEqual({ code: 1, out: shown.out });
    expect((await run(["logs", slug, "k", "--json"])).code).toBe(1);
  });

  test("-f of a task shows what it prints while it runs, once, and ends with it", async () => {
    const gate = join(dir, `gate-${++made}`);
    const slug = await addWorkload(["sh", "-c", `echo begun; read line < ${gate}; echo ended`]);
    await Bun.spawn(["mkfifo", gate]).exited;
    await submit(slug, "k");
    await startWorker();
    let open = true;
    const seen = await run(["logs", slug, "k", "-f"], {
      // It goes on once its first line was seen.
      watch: ({ out }) => {
        if (open && out.includes("begun")) void writeFile(gate, "go\n");
        open = false;
      },
    });
    expect(seen).toMatchObject({ code: 0, out: "begun\nended\n" });
    expect(seen.err).toMatch(/run \d+: success after/);
  });

  test("Ctrl-C ends following with 130; an id of no kind says what would do", async () => {
    const slug = await addWorkload(["true"]);
    await submit(slug, "k");
    await ship("something");
    const interrupted = await run(["logs", "-f"], {
      watch: (_, interrupt) => interrupt(),
    });
    expect(interrupted.code).toBe(130);
    const wrong = await run(["logs", slug]);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain(`try: flotilla logs ${slug} KEY`);
    expect((await run(["logs", "99999999"])).err).toContain("try: flotilla runs SLUG");
    const filtered = await run(["logs", "99999999", "--level", "warn"]);
    expect(filtered.err).toContain("--level is not for the log of one thing");
  });
});

describe("flotilla logs of the services (rules/clients#logs-by-command)", () => {
  test("prints the last lines in order, by level, host and words; -f goes on with what comes", async () => {
    await ship("first line");
    await ship("second line", "error");
    const line = ["logs", "--host", "gpu-1", "--text", "line"];
    const all = await run(line);
    expect(all.out.split("\n").filter(Boolean)).toEqual([
      expect.stringMatching(/INFO {2}worker@gpu-1 {2}first line {2}slots=4$/),
      expect.stringMatching(/ERROR worker@gpu-1 {2}second line {2}slots=4$/),
    ]);
    expect((await run([...line, "--level", "error"])).out).not.toContain("first");
    expect((await run(["logs", "--host", "gpu-1", "--text", "second"])).out).not.toContain("first");
    expect((await run([...line, "--limit", "1"])).out).not.toContain("first");
    const painted = await run(line, { terminal: { width: 100, colours: true } });
    expect(painted.out).toContain("\u001b[31mERROR\u001b[0m");

    let shipped = false;
    const followed = await run([...line, "-f", "--json"], {
      watch: ({ out }, interrupt) => {
        if (!shipped && out.includes("second")) {
          shipped = true;
          void ship("third line").then(() => ship("fourth line"));
        }
        if (out.includes("fourth")) interrupt();
      },
    });
    expect(followed.code).toBe(130);
    const messages = followed.out
      .trim()
      .split("\n")
      .map((one) => JSON.parse(one).message);
    expect(messages).toEqual(["first line", "second line", "third line", "fourth line"]);
  });
});

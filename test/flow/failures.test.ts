import { afterEach, expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { askUntil, createPullRig } from "#test/support/rigs/pull-rig.ts";

const rig = createPullRig();
afterEach(() => rig.close());
const { api } = rig;

async function flotilla(
  command: "failures" | "retry",
  words: string[],
  flags: Record<string, string[]>,
): Promise<{ code: number; out: string; err: string }> {
  const seen = { out: "", err: "" };
  const terminal: Terminal = {
    out: (text) => {
      seen.out += text;
    },
    err: (text) => {
      seen.err += text;
    },
    width: 200,
    live: false,
    liveWidth: 120,
  };
  const env = { SVC_HUB: rig.hub().url };
  const { signal } = new AbortController();
  const code = await runClientCommand(command, words, flags, env, terminal, signal);
  return { code, ...seen };
}

const countsOf = async (slug: string) => (await api("GET", `/workloads/${slug}/queue`)).body;
const settled = (slug: string) =>
  askUntil(`the end of ${slug}`, async () => {
    const counts = await countsOf(slug);
    return counts.pending + counts.claimed === 0 && counts;
  });

/** Fails in two ways while `broken` exists, with a different path and number in each error. */
async function brokenWorkload(slug: string): Promise<{ mend: () => Promise<void> }> {
  const dir = await rig.tempDir();
  const broken = join(dir, "broken");
  await writeFile(broken, "");
  const source_path = join(dir, "plugin.py");
  await writeFile(
    source_path,
    `
import os
def load(pk):
    raise OSError("cannot identify image file '/data/in/" + pk + ".heic'")
def run(pk, extra, ctx):
    if os.path.exists(${JSON.stringify(broken)}):
        if pk.startswith("img"): load(pk)
        raise ValueError("row " + pk[3:] + " is empty")
    return pk
`,
  );
  const { status, text } = await api("POST", "/workloads", {
    slug,
    executor_type: "python_module",
    executor_config: { source_path, module: "plugin" },
    max_attempts: 1,
  });
  if (status !== 201) throw new Error(text);
  return { mend: () => rm(broken) };
}

test("failures of a real worker are grouped, previewed, retried by a filter, and succeed (rules/failures#acting-by-filter)", async () => {
  await rig.start();
  const { mend } = await brokenWorkload("thumbs");
  const names = ["img1", "img2", "img3", "row7", "row8"];
  await api("POST", "/workloads/thumbs/tasks/batch", { items: names.map((pk) => ({ pk })) });
  await rig.worker();
  expect(await settled("thumbs")).toMatchObject({ failed: 5 });

  const { items } = (await api("GET", "/failures?workload=thumbs&sort=count")).body;
  expect(items).toMatchObject([
    { kind: "OSError", message: "cannot identify image file ‹path›", count: 3 },
    { kind: "ValueError", message: "row ‹n› is empty", count: 2 },
  ]);
  expect(items[0].example.traceback).toContain("in load");
  const { fingerprint } = items[0];
  const listed = await flotilla("failures", [], { workload: ["thumbs"] });
  expect(listed).toMatchObject({ code: 0, err: "" });
  expect(listed.out).toContain(fingerprint);
  expect(listed.out).toContain("OSError: cannot identify image file ‹path›");

  const preview = await flotilla("retry", [], { fingerprint: [fingerprint] });
  expect(preview.out).toStartWith("3 tasks to retry\n");
  expect(preview.out).toContain("repeat the command with --yes --at-most 3");
  expect(await countsOf("thumbs")).toMatchObject({ failed: 5 });

  await mend();
  const done = await flotilla("retry", [], { fingerprint: [fingerprint], yes: ["1"] });
  expect(done).toMatchObject({ code: 0, out: "3 tasks retried\n" });
  expect(await settled("thumbs")).toMatchObject({ failed: 2, total: 2 });
  const { runs } = (await api("GET", "/workloads/thumbs/runs?success=true")).body;
  expect(runs.map((run: { pk: string }) => run.pk).sort()).toEqual(["img1", "img2", "img3"]);
  const all = { workload: ["thumbs"], yes: ["1"] };
  expect((await flotilla("failures", ["delete"], all)).err).toContain("at_most");
  const gone = await flotilla("failures", ["delete"], { ...all, "at-most": ["2"] });
  expect(gone.out).toBe("2 tasks deleted\n");
}, 180_000);

test("flags that do not go together are refused", async () => {
  await rig.start();
  const refused = async (words: string[], flags: Record<string, string[]>) =>
    flotilla("failures", words, flags).then(
      () => "",
      (err) => err.message,
    );
  expect(await refused(["forget"], {})).toContain('not "forget"');
  expect(await refused(["move"], { workload: ["x"] })).toContain("--to");
  expect(await refused(["move"], { jobs: ["1"], to: ["x"] })).toContain("--to is for tasks");
  expect(await refused([], { host: ["x"] })).toContain("--jobs");
  expect(await refused(["retry"], {})).toContain("--fingerprint");
}, 60_000);

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseCommandLine } from "#hub/program/cli/args.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { createClient } from "#shared/client/index.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let dir: string;
beforeAll(async () => {
  hub = await startTestHub();
  dir = await mkdtemp(join(tmpdir(), "flotilla-import-"));
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  await hub.call("POST", "/api/v1/workloads", { slug: "work", ...command });
});
afterAll(async () => {
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});

async function run(line: string[]) {
  const seen = { code: -1, out: "", err: "" };
  const terminal: Terminal = {
    out: (text: string) => {
      seen.out += text;
    },
    err: (text: string) => {
      seen.err += text;
    },
    width: () => 100,
    liveWidth: () => null,
  } as unknown as Terminal;
  const parsed = parseCommandLine(line, {});
  if (parsed.kind !== "command") throw new Error("no command");
  const { words, flags } = parsed;
  const env = { SVC_HUB: hub.url };
  const { signal } = new AbortController();
  try {
    seen.code = await runClientCommand("submit", words, flags, env, terminal, signal);
  } catch (err) {
    seen.err += (err as Error).message;
    seen.code = 2;
  }
  return seen;
}

test("flotilla submit --csv shows, submits and names faulty lines (rules/clients#tables-as-tasks)", async () => {
  const good = join(dir, "good.csv");
  await writeFile(good, "id,url\na,https://a.example\nb,https://b.example\na,again\n");
  const shown = await run(["submit", "work", "--csv", good, "--key", "id", "--dry-run"]);
  expect(shown).toMatchObject({ code: 0, err: "" });
  expect(shown.out.split("\n")).toEqual([
    "2 tasks would be submitted, 1 duplicate left alone",
    '{"pk":"a","extra":{"url":"https://a.example"}}',
    '{"pk":"b","extra":{"url":"https://b.example"}}',
    '{"pk":"a","extra":{"url":"again"}}',
    "",
  ]);
  const sent = await run(["submit", "work", "--csv", good]);
  expect(sent).toEqual({ code: 0, out: "2 tasks submitted, 1 duplicate left alone\n", err: "" });
  const bad = join(dir, "bad.csv");
  await writeFile(bad, "id,url\nc\nd,x\n");
  const refused = await run(["submit", "work", "--csv", bad]);
  expect(refused.code).toBe(2);
  expect(refused.err).toContain("line 2: has 1 cells, but the header has 2");
  expect((await run(["submit", "work", "--csv", bad, "--dry-run"])).code).toBe(1);
  const skipped = await run(["submit", "work", "--csv", bad, "--skip-faults", "--json"]);
  expect(JSON.parse(skipped.out)).toMatchObject({ submitted: 1, fault_count: 1 });
});

test("flotilla submit --jsonl reads objects by a key of theirs, and refuses what does not go together", async () => {
  const file = join(dir, "rows.jsonl");
  await writeFile(file, '{"n":1,"a":true}\n{"n":2}\n');
  const sent = await run(["submit", "work", "--jsonl", file, "--key", "n"]);
  expect(sent.out).toBe("2 tasks submitted\n");
  for (const [line, words] of [
    [["submit", "work", "k", "--csv", file], "takes one of"],
    [["submit", "work", "--csv", file, "--jsonl", file], "takes one of"],
    [["submit", "work", "--csv", file, "--wait"], "--wait is for"],
    [["submit", "work", "k", "--key", "n"], "--key is for"],
    [["submit", "work", "--csv", join(dir, "none")], "does not exist"],
  ] as const)
    expect((await run([...line])).err).toContain(words);
});

test("the client imports files, checks drafts and rolls back (rules/clients#tables-as-tasks)", async () => {
  const { workloads } = createClient({ base_url: hub.url });
  const found = await workloads.importTasks("work", "pk,n\nz,1\n", { format: "csv", typed: true });
  expect(found).toMatchObject({ submitted: 1, tasks: [{ pk: "z", extra: { n: 1 } }] });
  const coded = (code: string) => ({
    executor_type: "bun_module" as const,
    executor_config: { code },
  });
  await workloads.create({ slug: "coded", ...coded("export const run = () => 1;") });
  await workloads.replace("coded", { name: "coded", ...coded("export const run = () => 2;") });
  const back = await workloads.restore("coded", 1, { note: "back" });
  expect(back.executor_config).toEqual({ code_version: 3 });
  expect((await workloads.versions("coded")).map(({ version }) => version)).toEqual([3, 2, 1]);
  expect((await workloads.version("coded", 2)).code).toBe("export const run = () => 2;");
  await expect(workloads.check(coded("x"))).rejects.toThrow("no pull worker is on");
});

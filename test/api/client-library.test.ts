import { afterAll, beforeAll, expect, test } from "bun:test";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { type Client, createClient } from "#shared/client/index.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/**
 * The registries of rules/engines#engine-calls and rules/library#registry-calls through the client library and the command
 * line.
 */

let hub: TestHub;
let client: Client;
beforeAll(async () => {
  hub = await startTestHub({ alone: true });
  client = createClient({ base_url: hub.url });
});
afterAll(() => hub.close());

const ENGINE = { endpoint: "http://llm.test:8080", model: "tiny" };

async function command(
  name: "engines" | "fetch",
  words: string[],
  flags: Record<string, string[]>,
) {
  let out = "";
  const terminal = {
    width: null,
    live: false,
    liveWidth: 80,
    out: (text: string) => {
      out += text;
    },
    err: () => {},
  };
  const all = { hub: [hub.url], ...flags };
  const { signal } = new AbortController();
  const code = await runClientCommand(name, words, all, {}, terminal, signal);
  return { code, out };
}

test("engines: put, list, promote, get, delete (rules/engines#engine-calls)", async () => {
  expect((await command("engines", [], {})).out).toBe("no engines\n");
  await client.engines.put("a", ENGINE);
  await client.engines.put("b", { ...ENGINE, kind: "reasoning", use_for_codegen: true });
  expect((await client.engines.promote("b")).promoted).toBe(true);
  expect((await client.engines.list()).map(({ slug }) => slug)).toEqual(["a", "b"]);
  const { out, code } = await command("engines", [], {});
  expect(code).toBe(0);
  const lines = out
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(lines).toEqual([
    ["ENGINE", "KIND", "MODEL", "PROMOTED", "CODE", "ENDPOINT"],
    ["a", "chat", "tiny", "no", "no", ENGINE.endpoint],
    ["b", "reasoning", "tiny", "yes", "yes", ENGINE.endpoint],
  ]);
  await client.engines.delete("b");
  await expect(client.engines.get("b")).rejects.toMatchObject({ status: 404 });
});

test("presets, skills, conventions and settings (rules/library#registry-calls)", async () => {
  await client.presets.put("long", { options: { scroll: true } });
  expect((await client.presets.list())[0]?.options).toEqual({ scroll: true });
  await client.skills.put("accept", { code: "1;", tags: ["consent"] });
  expect((await client.skills.list({ tag: "none" })).length).toBe(0);
  expect((await client.skills.list({ tag: "consent" })).length).toBe(1);
  await client.conventions.put("brief", { text: "Be brief." });
  expect((await client.conventions.list())[0]?.enabled).toBe(true);
  expect((await client.settings.patch({ retention_days: 9 })).settings.retention_days).toBe(9);
  expect((await client.settings.patch({ retention_days: null })).settings.retention_days).toBe(0);
  await client.skills.delete("accept");
  await client.conventions.delete("brief");
});

test("a job names a preset, in the library and on the command line (rules/library#presets)", async () => {
  await client.presets.put("long", { options: { scroll: true, wait_seconds: 1 } });
  const job = await client.jobs.submit(
    { url: TARGET, preset: "long", options: { wait_seconds: 2 } },
    { patience_ms: 0 },
  );
  expect(job.options).toMatchObject({ scroll: true, wait_seconds: 2 });
  await client.jobs.cancel(job.job_id);
  const worker = await hub.worker();
  const fetched = command("fetch", [TARGET], { preset: ["long"], option: ["wait_seconds=3"] });
  const assigned = await worker.assigned.next();
  expect(assigned.options).toMatchObject({ scroll: true, wait_seconds: 3 });
  worker.finish(assigned);
  expect((await fetched).code).toBe(0);
  await expect(command("fetch", [TARGET], { preset: ["none"] })).rejects.toThrow("preset");
});

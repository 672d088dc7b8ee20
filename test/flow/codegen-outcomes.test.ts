import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { ScriptOutcome, ScriptRun } from "#hub/fleet/runner/script-run.ts";
import { scriptedCalls, scriptedWorker } from "#test/support/fakes/scripted-worker.ts";
import { LOST } from "#test/support/models/lost.ts";
import { createQueue, type Queue } from "#test/support/models/queue.ts";
import { RAN_WELL } from "#test/support/models/script-outcome.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { fleetsOnPostgres } from "#test/support/rigs/hubs.ts";
import { type LlmServer, startLlmServer } from "#test/support/servers/llm-server.ts";

/**
 * What attempts come to (rules/scripts#classes-of-an-attempt), with a page and a sandbox that the test plays and an engine
 * over real HTTP.
 */

setDefaultTimeout(180_000);
const fleets = fleetsOnPostgres();
beforeAll(() => fleets.open(), 180_000);
afterAll(() => fleets.close(), 180_000);

const SCRIPT = 'import { session } from "flotilla";\nawait session.text();\n';
const JUDGED = JSON.stringify({ ok: true, reason: "done", advice: "", class: "success" });

let hub: TestHub;
let llm: LlmServer;
let runs: Queue<{ run: ScriptRun; end(outcome?: Partial<ScriptOutcome>): void }>;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const options = (more: TestHubOptions = {}): TestHubOptions => ({
  alone: true,
  ...more,
  script_tools: {
    runScript: (_ctx, run) =>
      new Promise((resolve) => {
        const end = (outcome: Partial<ScriptOutcome> = {}) => resolve({ ...RAN_WELL, ...outcome });
        run.signal.addEventListener("abort", () => end({ end: "cancelled", stdout: "so far" }));
        runs.push({ run, end });
      }),
  },
});

async function startEngine(): Promise<void> {
  runs = createQueue();
  llm = await startLlmServer({
    handler: ({ body }) => ({
      kind: "answer",
      text: JSON.stringify(body).includes("You judge") ? JUDGED : `\`\`\`ts\n${SCRIPT}\`\`\``,
    }),
  });
  closing.push(() => llm.stop());
}

async function start(more: TestHubOptions = {}): Promise<void> {
  await startEngine();
  hub = await startTestHub(options(more));
  closing.push(() => hub.close());
  await putEngine();
}

const putEngine = async (slug = "local", more: object = {}) => {
  const engine = { endpoint: llm.url, model: slug, use_for_codegen: true, ...more };
  expect((await hub.call("PUT", `/engines/${slug}`, engine)).status).toBeLessThan(300);
};
const submit = async (more: object = {}, at = hub): Promise<string> => {
  const body = { url: TARGET, options: { mode: "codegen-loop", goal: "find it", ...more } };
  const answer = await at.call("POST", "/jobs", body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.body.job_id;
};
const outcome = async (job_id: string, at = hub) => {
  await hub.signals.next("job finished", { job_id });
  return read(job_id, at);
};
const read = async (job_id: string, at = hub) => ({
  job: (await at.call("GET", `/jobs/${job_id}`)).body,
  attempts: (await at.call("GET", `/jobs/${job_id}/attempts`)).body.attempts,
});

const ENDS: [string, Partial<ScriptOutcome>, string, string][] = [
  ["a timeout", { end: "timeout", exit_code: null }, "timeout", "did not end within 180 s"],
  ["a limit of the sandbox", { end: "limit", detail: "memory" }, "sandbox", "memory"],
  ["no sandbox", { end: "broken", detail: "no bwrap" }, "sandbox", "no bwrap"],
];
for (const [name, end, cls, words] of ENDS)
  test(`${name} ends the job without another word to an engine (rules/scripts#classes-of-an-attempt)`, async () => {
    await start();
    await scriptedWorker(hub);
    const job_id = await submit();
    (await runs.next()).end(end);
    const { job, attempts } = await outcome(job_id);
    expect(job).toMatchObject({ status: "failed", stage: cls, attempts: 1 });
    expect(job.error).toContain(`1 of 3 attempts (${cls})`);
    expect(job.error).toContain(words);
    expect(attempts).toEqual([expect.objectContaining({ state: "ended" })]);
    expect(llm.requests).toHaveLength(1);
  });

test("without an engine the job is refused with what to configure, and nothing is stored (rules/job-options#the-engine-of-a-job)", async () => {
  await start();
  await hub.call("DELETE", "/engines/local");
  const body = { url: TARGET, options: { mode: "codegen-loop", goal: "find it" } };
  const refused = async (more: object = {}) => {
    const options = { ...body.options, ...more };
    const { status, body: told } = await hub.call("POST", "/jobs", { ...body, options });
    return { status, detail: told.detail };
  };
  const none = "no engine to write scripts with: ";
  expect(await refused()).toEqual({
    status: 409,
    detail: `${none}no engine is configured: add one with PUT /engines/{slug}, or set CODEGEN_LLM_URL and CODEGEN_MODEL_NAME`,
  });
  await putEngine("thinker", { kind: "reasoning" });
  expect(await refused()).toMatchObject({ status: 409 });
  const named = (fault: string) => [
    {
      loc: ["body", "options", "codegen_engine"],
      msg: `options.codegen_engine ${fault}`,
    },
  ];
  expect(await refused({ codegen_engine: "thinker" })).toMatchObject({
    status: 422,
    detail: named(
      "names an engine that is of kind reasoning: code comes from one of kind chat or vision-chat",
    ),
  });
  expect(await refused({ codegen_engine: "gone" })).toMatchObject({
    status: 422,
    detail: named("names an engine that does not exist"),
  });
  await putEngine("keyed", { api_key_env: "NO_SUCH_API_KEY" });
  expect(await refused({ codegen_engine: "keyed" })).toEqual({
    status: 409,
    detail: `${none}engine keyed needs its key in the hub's variable NO_SUCH_API_KEY, which is not set`,
  });
  await putEngine("local");
  await hub.ctx.db.settings.set("judge_engine", "gone", 1);
  hub.ctx.settings_cache.clear();
  expect(await refused({ codegen_engine: "local" })).toEqual({
    status: 409,
    detail: `${none}the setting judge_engine names engine gone, which is not there`,
  });
  expect((await hub.call("GET", "/jobs")).body.jobs).toEqual([]);
  // A script that is there needs none.
  const rerun = await hub.call("POST", "/jobs", {
    url: TARGET,
    options: { mode: "rerun", code: "log(1)" },
  });
  expect(rerun.status).toBe(200);
});

test("a job whose engine was deleted while it waited fails with what to do (rules/scripts#engines-that-went-away)", async () => {
  await start();
  const job_id = await submit();
  await hub.call("DELETE", "/engines/local");
  await scriptedWorker(hub);
  const { job } = await outcome(job_id);
  expect(job).toMatchObject({ status: "failed", stage: "plan", attempts: 0 });
  expect(job.error).toStartWith("no engine to write scripts with: ");
});

test("the judge is the setting's engine; a script without a sandbox is told in the job's story", async () => {
  await start();
  await putEngine("strict", { kind: "reasoning", use_for_codegen: false });
  await hub.ctx.db.settings.set("judge_engine", "strict", 1);
  await scriptedWorker(hub);
  const job_id = await submit({ codegen_engine: "local" });
  (await runs.next()).end({ sandbox: "process", result: [1] });
  const { job, attempts } = await outcome(job_id);
  expect(job.status).toBe("completed");
  expect(attempts[0]).toMatchObject({
    engine: "local",
    sandbox: "process",
    verdict: { class: "success", engine: "strict" },
  });
  expect(llm.requests.map(({ body }) => body.model)).toEqual(["local", "strict"]);
  expect((await hub.call("GET", `/jobs/${job_id}/log.txt`)).text).toContain("without a sandbox");
  expect((await hub.call("GET", `/jobs/${job_id}/assets/result.json`)).body).toEqual([1]);
  expect((await hub.call("GET", `/jobs/${job_id}`)).body.answer).toEqual([1]);
});

test("the planner is given host notes, the host's skills but no offered one, and enabled conventions (rules/scripts#what-the-planner-is-given)", async () => {
  await start();
  const code = "// snippet";
  await hub.call("PUT", "/hosts/site.test", { notes: "the-note", recipes: [] });
  await hub.call("PUT", "/skills/known", {
    code,
    description: "the-skill",
    host_pattern: "*.test",
  });
  await hub.call("PUT", "/skills/fresh", { code, description: "not-taken", tags: ["offered"] });
  await hub.call("PUT", "/conventions/on", { title: "t", text: "the-rule", enabled: true });
  await hub.call("PUT", "/conventions/off", { title: "t", text: "no-rule", enabled: false });
  await scriptedWorker(hub);
  const job_id = await submit();
  (await runs.next()).end();
  await outcome(job_id);
  const prompt = JSON.stringify(llm.requests[0]?.body);
  for (const word of ["the-note", "the-skill", "the-rule", "heading: Page"])
    expect(prompt).toContain(word);
  for (const word of ["not-taken", "no-rule"]) expect(prompt).not.toContain(word);
});

test("between attempts the page is opened again, with the registry's cookies and nothing else (rules/scripts#page-for-each-attempt)", async () => {
  await start();
  const cookie = { name: "a", value: "1", domain: "site.test" };
  await hub.call("PUT", "/hosts/site.test/cookies", { cookies: [cookie] });
  const worker = await scriptedWorker(hub);
  const job_id = await submit();
  (await runs.next()).end({ end: "error", exit_code: 1 });
  const reset = await worker.calls.next(({ action }) => action === "run_reset");
  expect(reset.args).toMatchObject({ url: TARGET, fresh: true, cookies: [{ name: "a" }] });
  (await runs.next()).end();
  const { job, attempts } = await outcome(job_id);
  expect(job).toMatchObject({ status: "completed", attempts: 2 });
  expect(attempts.map((a: { verdict: { class: string } }) => a.verdict.class)).toEqual([
    "script_error",
    "success",
  ]);
});

test("a script's files: two of one name in one attempt, replaced by the next attempt", async () => {
  await start();
  const names = new Set<string>();
  await scriptedWorker(hub, {
    on_call: (call) => {
      if (call.action !== "take_name") return scriptedCalls(call);
      const name = names.has(String(call.args.name))
        ? `2-${call.args.name}`
        : String(call.args.name);
      names.add(name);
      return { result: { name } };
    },
  });
  const job_id = await submit();
  const save = async ({ run }: { run: ScriptRun }, text: string) =>
    (await run.door.save("a.txt", null, new TextEncoder().encode(text))).name;
  const first = await runs.next();
  expect([await save(first, "one"), await save(first, "two")]).toEqual(["a.txt", "2-a.txt"]);
  first.end({ end: "error", exit_code: 1 });
  const second = await runs.next();
  expect(await save(second, "three")).toBe("a.txt");
  await expect(second.run.door.act("click", {}, second.run.signal)).rejects.toThrow("click");
  second.end();
  await outcome(job_id);
  expect((await hub.call("GET", `/jobs/${job_id}/assets/a.txt`)).text).toBe("three");
});

test("a worker that dies in the middle fails the job; its attempt says so and keeps what was printed (rules/jobs#lost-workers)", async () => {
  await start();
  const worker = await scriptedWorker(hub);
  const job_id = await submit();
  const { run } = await runs.next();
  await worker.close();
  const { job } = await outcome(job_id);
  expect(job).toMatchObject({ status: "failed", error: LOST });
  expect(run.signal.aborted).toBe(true);
  await Promise.all([...hub.ctx.scripted.runs.values()].map(({ done }) => done));
  const attempt = (await hub.call("GET", `/jobs/${job_id}/attempts/1`)).body;
  expect(attempt).toMatchObject({
    state: "ended",
    stdout: "so far",
    script: SCRIPT,
    verdict: { class: "lane_lost" },
  });
});

test("a deleted job ends its script and takes its attempts with it (rules/scripts#ends-of-a-scripted-job)", async () => {
  await start();
  await scriptedWorker(hub);
  const job_id = await submit();
  const { run } = await runs.next();
  expect((await hub.call("DELETE", `/jobs/${job_id}`)).status).toBe(204);
  expect(run.signal.aborted).toBe(true);
  expect((await hub.call("GET", `/jobs/${job_id}/attempts/1`)).status).toBe(404);
});

test("a hub without pull-on-free runs scripted jobs at once all the same", async () => {
  await start({ env: { SVC_QUEUE_PULL_ON_FREE: "0" } });
  await scriptedWorker(hub);
  const job_id = await submit();
  (await runs.next()).end();
  expect((await outcome(job_id)).job.status).toBe("completed");
});

test("of several hubs the one with the worker runs the script; every hub shows and cancels it (rules/scripts#ends-of-a-scripted-job)", async () => {
  await startEngine();
  const fleet = await fleets.start(options());
  closing.push(() => fleets.end());
  const [a, b] = fleet.hubs as [TestHub, TestHub];
  hub = b;
  await putEngine();
  await scriptedWorker(b);
  const job_id = await submit({}, a);
  (await runs.next()).end({ result: "found" });
  await b.signals.next("job finished", { job_id });
  const { job, attempts } = await read(job_id, a);
  expect(job).toMatchObject({ status: "completed", attempts: 1 });
  expect(attempts).toHaveLength(1);
  expect((await a.call("GET", `/jobs/${job_id}/attempts/1`)).body.result).toBe("found");
  const second = await submit({}, a);
  const { run } = await runs.next();
  const stopped = new Promise((resolve) => run.signal.addEventListener("abort", resolve));
  expect((await a.call("POST", `/jobs/${second}/cancel`)).body.status).toBe("cancelled");
  await stopped;
  await Promise.all([...b.ctx.scripted.runs.values()].map(({ done }) => done));
  expect((await read(second, a)).attempts[0]).toMatchObject({
    state: "ended",
    verdict: { class: "cancelled" },
  });
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  type CodegenRig,
  says,
  script,
  startCodegenRig,
  verdict,
} from "#test/support/rigs/codegen-rig.ts";

/** Modes codegen-loop and rerun (rules/scripts#the-loop) in a real Chromium, a real sandbox, and with an engine over HTTP. */

const PAGE = `<!doctype html><title>Shop</title><h1>Fruit</h1>
<ul>${["apple", "pear", "plum"].map((name) => `<li class=item>${name}</li>`).join("")}</ul>
<button id=more onclick="this.textContent = 'clicked'">More</button>`;
const LOGIN = `<!doctype html><title>Login</title><form><input name=user><input type=password name=pw></form>`;

const READ = `import { session } from "flotilla";
export default await session.evaluate("[...document.querySelectorAll('.item')].map((e) => e.textContent)");`;
const GOOD = `import { session, log, save } from "flotilla";
await session.click("#more");
await log("clicked", { button: "#more" });
const items = await session.evaluate("[...document.querySelectorAll('.item')].map((e) => e.textContent)");
await save("items.txt", items.join("\\n"));
export default { items };`;
const BROKEN = `import { session } from "flotilla";
await session.evaluate("localStorage.setItem('left', 'behind'); document.cookie = 'left=behind'");
await session.click("#nope", { timeout_s: 0.3 });`;
/** Leaves a page that answers nobody any more. */
const HANGS = `import { session } from "flotilla";
await session.evaluate("setTimeout(() => { for (;;); }, 0)");
throw new Error("left hanging");`;
/** What the attempt before it has left behind. */
const STORED = `import { session } from "flotilla";
export default await session.evaluate("[localStorage.length, document.cookie, document.title]");`;
const WAITS = `import { session } from "flotilla";
await session.wait("#never", { timeout_s: 60 });`;

let rig: CodegenRig;
let site: ReturnType<typeof Bun.serve>;
let page = "";

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new Response(new URL(request.url).pathname === "/login" ? LOGIN : PAGE, {
        headers: { "content-type": "text/html" },
      }),
  });
  page = new URL("/fruit", site.url).href;
  rig = await startCodegenRig({ lanes: 3 });
}, 120_000);

afterAll(async () => {
  expect(await rig?.stop()).toEqual([]);
  await site?.stop(true);
}, 60_000);

const classes = (attempts: { verdict: { class: string } | null }[]) =>
  attempts.map((attempt) => attempt.verdict?.class);
const rerun = async (options: object): Promise<string> => {
  const answer = await rig.call("POST", "/jobs", {
    url: page,
    options: { mode: "rerun", ...options },
  });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.body.job_id;
};
const LONG = 180_000;

test(
  "a good first script completes the job; everything of its attempt is kept, and it can be rerun by job, attempt and code (rules/scripts#the-loop)",
  async () => {
    const goal = "read the fruit (good first script)";
    const job_id = await rig.submit(page, {
      goal,
      plan: [script(GOOD)],
      judge: [verdict("success")],
    });
    const done = await rig.outcome(job_id);
    expect(done.job).toMatchObject({ status: "completed", attempts: 1, error: null });
    expect(done.events.at(-1)?.type).toBe("done");
    expect(done.stages).toEqual(
      expect.arrayContaining(["assigned", "navigate", "plan", "check", "run", "judge", "offer"]),
    );
    expect(done.events.map(({ data }) => data.message)).toContain("clicked");
    const attempt = await done.attempt(1);
    expect(attempt).toMatchObject({
      ...{ job_id, n: 1, state: "ended", engine: "local", exit_code: 0, sandbox: "bubblewrap" },
      ...{ result: { items: ["apple", "pear", "plum"] }, error: null, screenshot: "attempt-1.png" },
      verdict: { class: "success", ok: true, by: "judge", engine: "local" },
      tokens: { prompt_tokens: 22, completion_tokens: 14 },
      evidence: { url: page, title: "Shop" },
    });
    expect(attempt.script).toBe(`${GOOD}\n`);
    expect(attempt.prompt).toContain("apple");
    expect(attempt.reply).toContain("Here it is");
    expect(attempt.timings.first_action_ms).toBeGreaterThan(0);
    const result = await rig.call("GET", `/jobs/${job_id}/assets/result.json`);
    expect(result.body).toEqual({ items: ["apple", "pear", "plum"] });
    expect((await rig.call("GET", `/jobs/${job_id}/assets/items.txt`)).text).toBe(
      "apple\npear\nplum",
    );
    expect((await rig.call("GET", `/jobs/${job_id}/assets/attempt-1.png`)).status).toBe(200);
    expect((await rig.call("GET", `/jobs/${job_id}/page.html`)).text).toContain("clicked");
    // Offered, and used by nothing before a person takes it.
    const { skills } = (await rig.call("GET", "/skills")).body;
    const offered = skills.find((s: { created_from_job: string }) => s.created_from_job === job_id);
    expect(offered).toMatchObject({ created_by: "ai", tags: ["offered"], code: `${GOOD}\n` });
    const { recipes } = (await rig.call("GET", "/hosts/127.0.0.1")).body;
    expect(recipes).toEqual([
      expect.objectContaining({
        ...{ pattern: "/fruit", created_by: "ai", created_from_job: job_id, enabled: false },
        actions: [
          { kind: "click", selector: "#more" },
          { kind: "evaluate", code: expect.stringContaining(".item") },
        ],
      }),
    ]);
    const fetched = await rig.fleet.submit(page, { idle_seconds: 0 });
    expect((fetched.options as { fetch_recipe: unknown }).fetch_recipe).toBeNull();

    const from = [
      await rerun({ rerun_from: job_id }),
      await rerun({ rerun_from: `${job_id}/attempts/1` }),
      await rerun({ code: READ }),
    ];
    // Copied when it was submitted: the first job may go.
    expect((await rig.call("DELETE", `/jobs/${job_id}`)).status).toBe(204);
    expect((await rig.call("GET", `/jobs/${job_id}/attempts`)).status).toBe(404);
    const again = await Promise.all(from.map(rig.outcome));
    for (const { job } of again) expect(job).toMatchObject({ status: "completed", attempts: 1 });
    const results = await Promise.all(again.map(async (o) => (await o.attempt(1)).result));
    expect(results).toEqual([
      { items: ["apple", "pear", "plum"] },
      { items: ["apple", "pear", "plum"] },
      ["apple", "pear", "plum"],
    ]);
    expect(again[0]?.attempts[0]).toMatchObject({ engine: null, verdict: { by: "rules" } });
    expect(rig.requests(goal)).toHaveLength(2);
    const gone = await rig.call("POST", "/jobs", {
      url: page,
      options: { mode: "rerun", rerun_from: job_id },
    });
    expect(gone).toMatchObject({ status: 422 });
    expect(gone.body.detail[0].loc).toEqual(["body", "options", "rerun_from"]);
  },
  LONG,
);

test(
  "a broken script is judged, and the next one, told why, begins on a clean page (rules/scripts#page-for-each-attempt)",
  async () => {
    const goal = "read the fruit (broken, then fixed)";
    const job_id = await rig.submit(page, {
      goal,
      plan: [script(BROKEN), script(STORED)],
      judge: [verdict("script_error", "there is no #nope: use #more"), verdict("success")],
    });
    const { job, attempts, attempt } = await rig.outcome(job_id);
    expect(job).toMatchObject({ status: "completed", attempts: 2 });
    expect(classes(attempts)).toEqual(["script_error", "success"]);
    const first = await attempt(1);
    expect(first).toMatchObject({ exit_code: 1, error: { line: 3 }, screenshot: "attempt-1.png" });
    expect(first.verdict?.advice).toContain("use #more");
    const second = await attempt(2);
    expect(second.prompt).toContain("there is no #nope: use #more");
    expect(second.prompt).toContain("line 3");
    expect(second.result).toEqual([0, "", "Shop"]);
  },
  LONG,
);

test(
  "a page that a script has left hanging is replaced for the next attempt",
  async () => {
    const job_id = await rig.submit(page, {
      goal: "read the fruit (left hanging)",
      plan: [script(HANGS), script(READ)],
      judge: [verdict("script_error"), verdict("success")],
    });
    const { job, attempts } = await rig.outcome(job_id);
    expect(job).toMatchObject({ status: "completed", attempts: 2 });
    expect(classes(attempts)).toEqual(["script_error", "success"]);
  },
  LONG,
);

test(
  "what never works fails after max_codegen_attempts, with the reason in one sentence (rules/scripts#classes-of-an-attempt)",
  async () => {
    const goal = "read the fruit (never fixed)";
    const job_id = await rig.submit(
      page,
      {
        goal,
        plan: [script(READ)],
        judge: [verdict("wrong_result", "read the prices")],
      },
      { max_codegen_attempts: 2 },
    );
    const { job, attempts, events } = await rig.outcome(job_id);
    expect(classes(attempts)).toEqual(["wrong_result", "wrong_result"]);
    expect(job).toMatchObject({ status: "failed", stage: "wrong_result", attempts: 2 });
    expect(job.error).toBe(
      "the goal was not reached in 2 of 2 attempts (wrong_result, wrong_result): judged wrong_result",
    );
    expect(events.at(-1)).toMatchObject({ type: "error", data: { detail: job.error } });
    expect((await rig.call("GET", `/jobs/${job_id}/assets/result.json`)).status).toBe(404);
  },
  LONG,
);

test(
  "a refused script is corrected without browser time and without another attempt",
  async () => {
    const goal = "read the fruit (corrected)";
    const job_id = await rig.submit(page, {
      goal,
      plan: [script(`import fs from "node:fs";\n${READ}`), says("no script at all"), script(READ)],
      judge: [verdict("success")],
    });
    const { job, attempts, attempt } = await rig.outcome(job_id);
    expect(job).toMatchObject({ status: "completed", attempts: 1 });
    expect(attempts).toHaveLength(1);
    const { prompt, reply } = await attempt(1);
    expect(prompt).toContain("breaks these rules");
    expect(reply).toContain("no script at all");
    expect(rig.requests(goal)).toHaveLength(4);
  },
  LONG,
);

const NO_MORE = { max_codegen_attempts: 3 };
const matrix: [string, Parameters<CodegenRig["submit"]>[1], string[], number][] = [
  [
    "a judge whose JSON is malformed leaves the attempt unverified, never a success",
    { goal: "malformed JSON", plan: [script(READ)], judge: [says('{"ok": true, "reason')] },
    ["unverified"],
    2,
  ],
  [
    "a think block with another script in it is no answer",
    {
      goal: "think block",
      plan: [says(`\`\`\`ts\n${READ}\n\`\`\``, { think: "```ts\nnonsense(\n```" })],
      judge: [
        says(JSON.stringify({ ok: true, reason: "fine", advice: "", class: "success" }), {
          think: "hm",
        }),
      ],
    },
    ["success"],
    2,
  ],
  [
    "429 with Retry-After is asked once more",
    {
      goal: "too many requests",
      plan: [{ kind: "status", status: 429, headers: { "Retry-After": "0" } }, script(READ)],
      judge: [verdict("success")],
    },
    ["success"],
    3,
  ],
  [
    "429 again and again is capacity and burns no other attempt",
    {
      goal: "rate limited for good",
      plan: [{ kind: "status", status: 429, headers: { "Retry-After": "0" } }],
    },
    ["capacity"],
    2,
  ],
  [
    "500s are an engine_error and burn no other attempt",
    {
      goal: "server errors",
      plan: [{ kind: "status", status: 500, headers: { "Retry-After": "0" } }],
    },
    ["engine_error"],
    2,
  ],
  [
    "an answer that drips in slowly is waited for",
    {
      goal: "slow drip",
      plan: [says(`\`\`\`ts\n${READ}\n\`\`\``, { interval_ms: 5 })],
      judge: [verdict("success")],
    },
    ["success"],
    2,
  ],
  [
    "a connection that is cut in the middle of an answer is an engine_error",
    { goal: "connection cut", plan: [{ kind: "cut", after: 2, text: READ }] },
    ["engine_error"],
    1,
  ],
];
test(
  "what an engine may do instead of answering: outcomes, attempts and events of each (rules/scripts#classes-of-an-attempt)",
  async () => {
    const done = await Promise.all(
      matrix.map(async ([name, scenario, expected, requests]) => {
        const job_id = await rig.submit(page, scenario, NO_MORE);
        const { job, attempts, events, stages } = await rig.outcome(job_id);
        const ok = expected.at(-1) === "success";
        return {
          is: {
            ...{ name, status: job.status, attempts: job.attempts, classes: classes(attempts) },
            ...{ requests: rig.requests(scenario.goal).length, last: events.at(-1)?.type },
            ...{ planned: stages.includes("plan"), states: attempts.map(({ state }) => state) },
          },
          expected: {
            ...{ name, status: ok ? "completed" : "failed", attempts: 1, classes: expected },
            ...{ requests, last: ok ? "done" : "error", planned: true, states: ["ended"] },
          },
        };
      }),
    );
    expect(done.map(({ is }) => is)).toEqual(done.map(({ expected }) => expected as never));
  },
  LONG,
);

test(
  "a page that asks for a login nobody gave is told by rule, without a judge",
  async () => {
    const goal = "read the balance";
    const login = new URL("/login", site.url).href;
    const job_id = await rig.submit(login, { goal, plan: [script(BROKEN)] });
    const { job, attempts } = await rig.outcome(job_id);
    expect(classes(attempts)).toEqual(["credentials_missing"]);
    expect(job.error).toContain("asks for a login");
    expect(rig.requests(goal)).toHaveLength(1);
  },
  LONG,
);

test(
  "attach_to_job: a script runs in a tab of its own of the kept browser, and leaves the person's alone (rules/scripts#page-for-each-attempt)",
  async () => {
    const kept = await rig.fleet.submit(page, { keep_session: true, idle_seconds: 0 });
    await rig.outcome(kept.job_id);
    const sid = kept.session_id;
    await rig.call("POST", `/sessions/${sid}/evaluate`, { code: "document.title = 'mine'" });
    const code = `${GOOD}\nawait session.evaluate("document.title = 'theirs'");`;
    const job_id = await rerun({ code, attach_to_job: kept.job_id });
    const { job } = await rig.outcome(job_id);
    expect(job).toMatchObject({ status: "completed", session_id: sid });
    const tabs = (await rig.call("POST", `/sessions/${sid}/tabs`, {})).body.result;
    expect(tabs).toEqual([expect.objectContaining({ title: "mine", active: true })]);
    expect((await rig.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  },
  LONG,
);

test(
  "cancel while the engine plans, the script runs, and the judge thinks (rules/scripts#ends-of-a-scripted-job)",
  async () => {
    const cancel = async (job_id: string) => {
      const answer = await rig.call("POST", `/jobs/${job_id}/cancel`);
      expect(answer.body).toMatchObject({ status: "cancelled", error: null });
      const { attempts, events, attempt } = await rig.outcome(job_id);
      expect(classes(attempts)).toEqual(["cancelled"]);
      expect(events.at(-1)?.type).toBe("done");
      return attempt(1);
    };
    const silent = { kind: "silent" as const };
    const planning = await rig.submit(page, { goal: "cancel me while planning", plan: [silent] });
    const request = await rig.asked("cancel me while planning", 1);
    await cancel(planning);
    await request.closed;

    const goal = "cancel me while running";
    const running = await rig.submit(page, { goal, plan: [script(WAITS)] });
    for (;;) {
      const { stage } = (await rig.call("GET", `/jobs/${running}`)).body;
      if (stage === "run") break;
    }
    expect((await cancel(running)).script).toBe(`${WAITS}\n`);

    const judged = "cancel me while judging";
    const judging = await rig.submit(page, {
      goal: judged,
      plan: [script(READ)],
      judge: [silent],
    });
    const asked = await rig.asked(judged, 2);
    await cancel(judging);
    await asked.closed;
  },
  LONG,
);

test(
  "a hub killed in the middle fails the job at its next start, with nothing of the script left (rules/jobs#hub-restarts)",
  async () => {
    const goal = "survive the hub";
    const job_id = await rig.submit(page, { goal, plan: [script(WAITS)] });
    for (;;) {
      const { stage } = (await rig.call("GET", `/jobs/${job_id}`)).body;
      if (stage === "run") break;
    }
    rig.fleet.hub.kill("SIGKILL");
    const { attempts, job } = await waitForHub(() => rig.outcome(job_id));
    expect(job).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/^orchestrator killed by hub restart: /),
      attempts: 1,
    });
    expect(attempts).toEqual([expect.objectContaining({ state: "ended", n: 1 })]);
    expect(classes(attempts)).toEqual(["lane_lost"]);
  },
  LONG,
);

async function waitForHub<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    const up = await rig.call("GET", "/health").catch(() => null);
    if (up?.status === 200) return read();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

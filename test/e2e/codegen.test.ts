import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  type CodegenRig,
  says,
  script,
  startCodegenRig,
  verdict,
} from "#test/support/rigs/codegen-rig.ts";
import { serveFruitShop } from "#test/support/servers/site/fruit-shop.ts";

/** Modes codegen-loop and rerun (rules/scripts#the-loop) in a real Chromium, a real sandbox, and with an engine over HTTP. */

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

let rig: CodegenRig;
let site: ReturnType<typeof serveFruitShop>;
let page = "";

beforeAll(async () => {
  site = serveFruitShop();
  page = new URL("/fruit", site.url).href;
  rig = await startCodegenRig({ lanes: 3 });
}, 180_000);

afterAll(async () => {
  expect(await rig?.stop()).toEqual([]);
  await site?.stop(true);
}, 180_000);

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
      job_id,
      n: 1,
      state: "ended",
      engine: "local",
      exit_code: 0,
      sandbox: "bubblewrap",
      result: { items: ["apple", "pear", "plum"] },
      error: null,
      screenshot: "attempt-1.png",
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
        pattern: "/fruit",
        created_by: "ai",
        created_from_job: job_id,
        enabled: false,
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

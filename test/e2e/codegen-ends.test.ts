import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  type CodegenRig,
  says,
  script,
  startCodegenRig,
  verdict,
} from "#test/support/rigs/codegen-rig.ts";
import { serveFruitShop } from "#test/support/servers/site/fruit-shop.ts";

/** How scripted jobs end that do not complete (rules/scripts#ends-of-a-scripted-job), in a real Chromium and a real sandbox. */

const READ = `import { session } from "flotilla";
export default await session.evaluate("[...document.querySelectorAll('.item')].map((e) => e.textContent)");`;
const WAITS = `import { session } from "flotilla";
await session.wait("#never", { timeout_s: 120 });`;

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
const LONG = 180_000;

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
            name,
            status: job.status,
            attempts: job.attempts,
            classes: classes(attempts),
            requests: rig.requests(scenario.goal).length,
            last: events.at(-1)?.type,
            planned: stages.includes("plan"),
            states: attempts.map(({ state }) => state),
          },
          expected: {
            name,
            status: ok ? "completed" : "failed",
            attempts: 1,
            classes: expected,
            requests,
            last: ok ? "done" : "error",
            planned: true,
            states: ["ended"],
          },
        };
      }),
    );
    expect(done.map(({ is }) => is)).toEqual(done.map(({ expected }) => expected as never));
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

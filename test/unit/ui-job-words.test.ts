import { describe, expect, test } from "bun:test";
import { answerText, partsOf } from "#hub/ui/client/fleet/job/answer-text.ts";
import { ranInText } from "#hub/ui/client/fleet/job/ran-in.ts";
import { sentenceFor } from "#hub/ui/client/fleet/job/sentence.ts";
import { storyOfJob } from "#hub/ui/client/fleet/job/story.ts";
import { roundsOf } from "#hub/ui/client/pipeline/run/rounds.ts";
import type { AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";

/** What the page of a job says of it (rules/web-app#captures). */

const START = "2026-11-01T10:00:00.000Z";
const at = (ms: number) => new Date(Date.parse(START) + ms).toISOString();

const BARE: Partial<Job> = {
  job_id: "j",
  status: "completed",
  mode: "fetch",
  stage: "done",
  error: null,
  http_status: 200,
  changed: null,
  capture: null,
  queue_position: null,
  waiting_for: null,
  created_at: START,
  started_at: at(10),
  finished_at: at(1_000),
};
const jobOf = (told: Partial<Job>): Job => Object.assign({}, BARE, told) as Job;

describe("what became of a job, in a sentence", () => {
  const said = (told: Partial<Job>) => {
    const { tone, point, more } = sentenceFor(jobOf(told), "4 s");
    return [tone, point, more];
  };

  test("a page that answered with an error is not praised (rules/web-app#what-is-known)", () => {
    expect(said({ http_status: 500 }).slice(0, 2)).toEqual(["warn", "The page answered 500."]);
    expect(said({})).toEqual(["ok", "The page was captured.", ""]);
    expect(said({ mode: "rerun" })[1]).toBe("The script ran to its end.");
  });

  test("a failure is told whole, with what to do", () => {
    const error = "could not open http://a.test/: the host name a.test does not resolve (DNS)";
    const [tone, point, more] = said({ status: "failed", stage: "navigate", error });
    expect([tone, point]).toEqual(["bad", "Could not open http://a.test/."]);
    expect(more).toStartWith("The host name a.test does not resolve (DNS). ");
    expect(more).toContain("Check the address for typing errors");
  });

  test("a login is advised where one is needed, and not where a selector has the word", () => {
    const advised = (error: string) => said({ status: "failed", stage: "recipe", error })[2];
    expect(
      advised("login failed: #logout is not there after the login recipe, on http://a/"),
    ).toContain("The page requires a login.");
    expect(advised("recipe failed at step 1/2 fill #password: no such element")).toContain(
      "A step of the host's recipe did not work.",
    );
  });

  test("one that waits says for what, one that runs what it does now", () => {
    const detail = "w1 is on standby";
    const waiting_for = { reason: "workers_paused", detail } as Job["waiting_for"];
    expect(said({ status: "queued", queue_position: 2, waiting_for, finished_at: null })).toEqual([
      "idle",
      "Waiting for a browser for 4 s. Place 2 in the queue.",
      "W1 is on standby. Set one to active on the page Workers.",
    ]);
    expect(said({ status: "running", stage: "settle", finished_at: null })).toEqual([
      "live",
      "It is running.",
      "Letting the page settle …",
    ]);
  });
});

test("figures of an answer stand out, and an answer of one text is that text", () => {
  const parts = partsOf("Revenue was €128,430, up 12.4 % on 2026-10-31; 7 are open.");
  expect(parts.filter(({ figure }) => figure).map(({ text }) => text)).toEqual([
    ...["€128,430", "12.4 %", "2026-10-31", "7"],
  ]);
  expect(parts.map(({ text }) => text).join("")).toBe(
    "Revenue was €128,430, up 12.4 % on 2026-10-31; 7 are open.",
  );
  const long = "1 ".repeat(40_000);
  expect(
    partsOf(long)
      .map(({ text }) => text)
      .join(""),
  ).toBe(long);
  expect(answerText({ said: "yes" })).toBe("yes");
  expect(answerText({ a: 1, b: "two" })).toBe("a: 1 · b: two");
  expect(answerText([1, 2])).toBe("[1,2]");
});

describe("the stages of a job", () => {
  const line = (seq: number, ms: number, stage: string, level = "info"): JobEvent =>
    ({
      seq,
      ts: at(ms),
      type: "log",
      data: { stage, level, message: `${stage} said` },
    }) as JobEvent;

  test("the one in which it failed is bad, and those after it are not", () => {
    const job = jobOf({ status: "failed", stage: "navigate", error: "no" });
    const events = [line(1, 5, "assigned"), line(2, 300, "navigate"), line(3, 400, "upload")];
    const stages = storyOfJob(job, events, []);
    expect(stages.map(({ title, tone }) => [title, tone])).toEqual([
      ["Waited in the queue", "ok"],
      ["Page opened", "bad"],
      ["Files stored", "ok"],
    ]);
  });

  test("one that goes on says what it does, and an attempt stands for its own stages", () => {
    const running = jobOf({ status: "running", stage: "settle", finished_at: null });
    const told = storyOfJob(running, [line(1, 5, "navigate"), line(2, 9, "settle")], []);
    expect(told.at(-1)).toMatchObject({
      title: "Letting the page settle",
      tone: "live",
      until: null,
    });

    const attempt = {
      n: 1,
      state: "ended",
      started_at: at(20),
      finished_at: at(520),
      verdict: { class: "script_error", ok: false, reason: "it threw" },
    } as AttemptSummary;
    const failed = jobOf({ status: "failed", stage: "run", mode: "rerun", error: "it threw" });
    const scripted = storyOfJob(failed, [line(1, 5, "navigate"), line(2, 500, "run")], [attempt]);
    expect(scripted.map(({ title, tone, took_ms }) => [title, tone, took_ms])).toEqual([
      ["Page opened", "ok", 5],
      ["Script", "bad", 500],
    ]);
  });
});

test("attempts are grouped by round: a retried task begins at its first again", () => {
  const of = (...attempts: number[]) =>
    roundsOf(attempts.map((attempt) => ({ attempt }))).map((round) =>
      round.map(({ attempt }) => attempt),
    );
  expect(of(1, 2, 3, 1, 2)).toEqual([
    [1, 2, 3],
    [1, 2],
  ]);
  expect(of(1, 1)).toEqual([[1], [1]]);
  expect(of()).toEqual([]);
});

describe("where an attempt ran", () => {
  const proof = {
    job_id: "j",
    session_id: "s",
    reason: null,
    run_ms: null,
    answered: 0,
    missed_count: 0,
  };
  test("is told of jobs that prove their scripts (rules/scripts#proof-in-replay)", () => {
    expect(ranInText({})).toBeNull();
    expect(ranInText({ proof: null })).toBeNull();
    expect(ranInText({ proof: { ...proof, ok: null } })).toContain("runs in a replay");
    expect(ranInText({ proof: { ...proof, ok: false } })).toContain("the site saw nothing");
    expect(ranInText({ proof: { ...proof, ok: true } })).toContain("then ran on the site");
  });
});

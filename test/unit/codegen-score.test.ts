import { expect, test } from "bun:test";
import { checkScript } from "#hub/fleet/runner/check-script.ts";
import type { AttemptClass } from "#shared/protocol/schema/attempt.ts";
import { referenceOf, TASKS } from "#test/support/tasks/list.ts";
import { turnsOf } from "#test/support/tasks/play.ts";
import { misjudged, passesAt, type TaskScore, tableOf } from "../../scripts/bench/codegen-score.ts";

/** What the benchmark of codegen-loop (rules/scripts#the-loop) makes of its attempts. */

const attempt = (right: boolean, said: AttemptClass) => ({
  right,
  problem: right ? null : "wrong",
  said,
  tokens: { prompt_tokens: 100, completion_tokens: 10 },
});
const score = (task: string, ...attempts: TaskScore["attempts"]): TaskScore => ({
  task,
  ms: 1_500,
  attempts,
  error: attempts.length === 0 ? "no engine" : null,
});
const SCORES = [
  score("at-once", attempt(true, "success")),
  score("later", attempt(false, "wrong_result"), attempt(true, "success")),
  score("taken-for-right", attempt(false, "success")),
  score("taken-for-wrong", attempt(true, "wrong_result"), attempt(false, "script_error")),
  score("never-begun"),
];

test("an attempt passes by the truth, whatever the judge said of it", () => {
  expect(SCORES.map((one) => passesAt(1, one))).toEqual([true, false, false, true, false]);
  expect(SCORES.map((one) => passesAt(3, one))).toEqual([true, true, false, true, false]);
  expect(misjudged(SCORES)).toEqual({ accepted: 1, refused: 1 });
});

test("the table has a row for each task and says what they come to", () => {
  expect(tableOf(SCORES, 3)).toBe(
    [
      "task             pass@1  pass@3  s    tokens  attempts",
      "at-once          yes     yes     1.5  100+10  success",
      "later            no      yes     1.5  200+20  wrong_result, success",
      "taken-for-right  no      no      1.5  100+10  success (wrongly)",
      "taken-for-wrong  yes     yes     1.5  200+20  wrong_result (wrongly), script_error",
      "never-begun      no      no      1.5  0+0     no engine",
      "",
      "pass@1 2/5 (40 %), pass@3 3/5 (60 %)",
      "6 attempts; taken for right wrongly: 1, for wrong wrongly: 1",
      "600 prompt and 60 completion tokens, 7.5 s of jobs",
    ].join("\n"),
  );
});

test("the engine that plays the set tells its tasks apart, and answers a script and a verdict for each", async () => {
  const turns = await turnsOf(TASKS, ["popup"]);
  expect(turns).toHaveLength(2 * TASKS.length + 2);
  for (const { goal, name } of TASKS) {
    const body = JSON.stringify({ goal });
    const own = turns.filter(({ when }) => when !== undefined && body.includes(when));
    expect([name, own.length]).toEqual([name, name === "popup" ? 4 : 2]);
  }
});

test("every reference script passes the check that scripts of an engine have to pass", async () => {
  for (const task of TASKS)
    expect([task.name, checkScript(await referenceOf(task))]).toEqual([task.name, []]);
});

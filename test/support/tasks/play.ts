import type { LlmTurn } from "../servers/llm-turns.ts";
import { referenceOf, TASKS } from "./list.ts";
import type { Task } from "./task.ts";

const WRONG = `import { session } from "flotilla";
await session.text({ selector: "body" });
export default { done: true };
`;

/** What every request about a task holds, in whatever way it is quoted. */
const wordsOf = ({ goal }: Task): string => goal.slice(0, goal.search(/["'`\n]|$/)).slice(0, 60);

const answer = (task: Task, text: string): LlmTurn => ({
  kind: "answer",
  when: wordsOf(task),
  text,
  usage: { prompt_tokens: 1_000, completion_tokens: 200 },
});
const script = (task: Task, code: string) => answer(task, `\`\`\`ts\n${code}\n\`\`\``);
const verdict = (task: Task, ok: boolean) => {
  const said = { ok, reason: ok ? "done" : "nothing was done", advice: "" };
  return answer(task, JSON.stringify({ ...said, class: ok ? "success" : "wrong_result" }));
};

/**
 * An engine that knows the reference scripts: what it says for each task, in order. `wrong_first`: the first script of these
 * tasks does nothing, and the judge sees it.
 */
export async function turnsOf(
  tasks: readonly Task[] = TASKS,
  wrong_first: readonly string[] = [],
): Promise<LlmTurn[]> {
  const turns = tasks.map(async (task) => [
    ...(wrong_first.includes(task.name) ? [script(task, WRONG), verdict(task, false)] : []),
    script(task, await referenceOf(task)),
    verdict(task, true),
  ]);
  return (await Promise.all(turns)).flat();
}

/** `bun test/support/tasks/play.ts [task…] > FILE`: a script for the test engine; the tasks named get a wrong script first. */
if (import.meta.main)
  console.log(JSON.stringify({ script: await turnsOf(TASKS, process.argv.slice(2)) }));

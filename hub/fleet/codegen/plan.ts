import type { AttemptRow } from "#hub/platform/db/rows.ts";
import type { ChatMessage } from "#shared/llm/chat-message.ts";
import type { Verdict } from "#shared/protocol/schema/attempt.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { enabledConventions } from "../registries/conventions.ts";
import { hostForJob } from "../registries/hosts.ts";
import { skillsFor } from "../registries/skills.ts";
import { SCRIPT_API } from "../runner/script-api.ts";
import type { ScriptProblem } from "../runner/script-run.ts";
import { askEngine } from "./ask.ts";
import { pageView, takePicture } from "./evidence.ts";
import { type ScriptedJob, say } from "./job.ts";
import { correction, planMessages, problemList, promptText } from "./prompt.ts";
import { readScript } from "./read-script.ts";
import { byRules } from "./verdict.ts";

/** Corrections of one attempt: they take no browser time, and most slips of a model are gone after the first. */
const MAX_CORRECTIONS = 2;

/**
 * Has the engine write the attempt's script and checks it without running it. The prompt, the reply and what they cost
 * are on the attempt afterwards.
 * @returns why there is no script to run, or null when `attempt.script` may run.
 * @throws ChatError
 */
export async function planScript(
  job: ScriptedJob,
  engine: ResolvedEngine,
  attempt: AttemptRow,
  earlier: readonly AttemptRow[],
): Promise<Verdict | null> {
  const { ctx } = job;
  await say(job, "info", "plan", `attempt ${attempt.n}: asking ${engine.slug} for a script`, {
    attempt: attempt.n,
    engine: engine.slug,
    model: engine.model,
  });
  const messages = await firstMessages(job, engine, earlier);
  const replies: string[] = [];
  for (let corrections = 0; ; corrections += 1) {
    attempt.prompt = promptText(messages);
    const reply = await askEngine(job, engine, { messages }, attempt, "plan_ms");
    replies.push(reply.text);
    attempt.reply = replies.join("\n\n--- corrected\n");
    const script = readScript(reply.text);
    if (script !== null) attempt.script = script;
    const since = ctx.clock.monotonic();
    const problems: ScriptProblem[] =
      script === null
        ? [{ line: null, message: "the answer holds no script" }]
        : ctx.script_tools.checkScript(script);
    attempt.timings.check_ms = (attempt.timings.check_ms ?? 0) + ctx.clock.monotonic() - since;
    if (problems.length === 0) {
      const lines = attempt.script?.trimEnd().split("\n").length ?? 0;
      await say(job, "info", "check", `script of ${lines} lines passed the check`, { lines });
      return null;
    }
    await say(job, "warn", "check", `the script was refused: ${problems[0]?.message}`, {
      problems: problems.slice(0, 20),
    });
    if (corrections === MAX_CORRECTIONS)
      return byRules(
        "bad_script",
        `no script passed the check: ${problems[0]?.message}`,
        problemList(problems),
      );
    messages.push(
      { role: "assistant", content: reply.text },
      { role: "user", content: correction(problems) },
    );
  }
}

async function firstMessages(
  job: ScriptedJob,
  engine: ResolvedEngine,
  earlier: readonly AttemptRow[],
): Promise<ChatMessage[]> {
  const { ctx, row } = job;
  const { settings } = await hostForJob(ctx, row.host);
  return planMessages(SCRIPT_API, {
    goal: row.options.goal ?? "",
    url: row.url,
    page: await pageView(job),
    picture: engine.kind === "vision-chat" ? await takePicture(job) : null,
    notes: settings?.notes ?? "",
    skills: await skillsFor(ctx, row.host),
    conventions: await enabledConventions(ctx),
    earlier,
  });
}

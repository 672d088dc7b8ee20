import { MASK } from "#shared/kit/hide-credentials.ts";
import { ChatError, type ChatReply } from "#shared/llm/chat-message.ts";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import {
  AGENT_MOVE_SCHEMA,
  AgentMove,
  type AgentResult,
  type AgentStep,
} from "#shared/protocol/schema/page-agent.ts";
import type { Box } from "#shared/recording/events.ts";
import { agentMessages, corrected, describeMove, type ShownPage } from "../llm/prompts.ts";
import { isSecretField, locatorOf, makeMove, type PageMove } from "./agent-move.ts";
import type { AriaText } from "./aria-lines.ts";
import type { ActionContext } from "./context.ts";
import { type EngineCalls, engineFailure } from "./engine-call.ts";
import { failureOf } from "./failure.ts";
import { smallPicture } from "./picture.ts";
import { shownKey } from "./scrub.ts";
import { seePage } from "./snapshot.ts";

const MAX_PAGE_CHARS = 20_000;
const MAX_PICTURE_BYTES = 100 * 1024;
const PAGE_MS = 15_000;
/** Deadline of one move; a move that takes longer is reported to the engine as a failure. */
const MOVE_MS = 10_000;
const MAX_ERROR = 300;

export interface AgentRun extends ActionContext {
  engines: EngineCalls;
  /** Looks where the element of a step is while the step runs, for recordings. */
  lookFor?: ((selector: string) => () => Promise<Box | null>) | undefined;
  /** Called for each step as it ends. */
  onStep(line: string, step: AgentStep, box: Box | null): void;
}

/** The page at the beginning of a step, and the elements that may be acted on. */
interface Seen {
  shown: ShownPage;
  refs: AriaText["refs"];
  picture: string | null;
}

/**
 * Lets an engine work on the active tab until it says that the goal is reached, gives up, or a bound ends it
 * (rules/session-actions#agent). It can do what `AgentMove` lists, with elements it was shown, and open URLs that a
 * session may open.
 * @throws ActionFailure when the first step yields no action, or the browser is gone
 */
export async function agent(
  run: AgentRun,
  { goal, engine: slug, max_steps }: SessionActionArgs<"agent">,
): Promise<AgentResult> {
  const until = run.clock.monotonic() + run.timeout_ms;
  const left = () => until - run.clock.monotonic();
  const engine = await run.engines.resolve(slug, run.signal);
  const steps: AgentStep[] = [];
  const usage = { prompt_tokens: 0, completion_tokens: 0 };
  let model = engine.model;
  const end = (ended: AgentResult["ended"], more: Partial<AgentResult> = {}): AgentResult => ({
    done: ended === "done",
    answer: null,
    ended,
    reason: null,
    engine: engine.slug,
    model,
    usage,
    steps,
    ...more,
  });
  const count = (reply: ChatReply) => {
    model = reply.model;
    usage.prompt_tokens += reply.usage?.prompt_tokens ?? 0;
    usage.completion_tokens += reply.usage?.completion_tokens ?? 0;
  };
  for (let n = 1; n <= max_steps; n += 1) {
    const since = run.clock.monotonic();
    let seen: Seen;
    let move: AgentMove;
    try {
      seen = await look(run, engine, left());
      const messages = agentMessages(goal, steps, seen.shown, max_steps - n + 1);
      move = await nextMove(run, engine, messages, count);
    } catch (err) {
      if (run.signal.aborted || left() <= 0) return end("timeout");
      const engine_failed = err instanceof ChatError;
      const failure = engine_failed ? engineFailure(err) : failureOf(err);
      if (steps.length === 0 || failure.kind === "gone") throw failure;
      return end(engine_failed ? "engine_error" : "page_error", { reason: failure.message });
    }
    const last = move.action === "done" || move.action === "give_up";
    const secret = move.action === "fill" && (await isSecretField(run.pages.active(), move.ref));
    const touched = "ref" in move && move.ref ? run.lookFor?.(locatorOf(move.ref)) : undefined;
    const error = last ? null : await attempt(run, move as PageMove, seen.refs, left());
    const step: AgentStep = {
      n,
      thought: move.thought ?? null,
      ok: error === null,
      error,
      action: secret ? ({ ...move, text: MASK } as AgentMove) : move,
      url: run.pages.active().url(),
      ms: run.clock.monotonic() - since,
      screenshot_base64: seen.picture,
    };
    steps.push(step);
    const shown = move.action === "press" ? { ...move, key: shownKey(move.key) } : move;
    const line = `step ${n}: ${describeMove(shown)}${error === null ? "" : `: ${error}`}`;
    run.onStep(line, step, (await touched?.()) ?? null);
    if (move.action === "done") return end("done", { answer: move.answer });
    if (move.action === "give_up") return end("gave_up", { reason: move.reason });
    if (run.signal.aborted || left() <= 0) return end("timeout");
  }
  return end("max_steps");
}

async function look(run: AgentRun, engine: ResolvedEngine, left_ms: number): Promise<Seen> {
  const page = run.pages.active();
  const timeout_ms = Math.max(1, Math.min(PAGE_MS, left_ms));
  const [{ url, title, aria }, picture] = await Promise.all([
    seePage(page, { max_chars: MAX_PAGE_CHARS, timeout_ms, refs: true }),
    smallPicture(page, MAX_PICTURE_BYTES),
  ]);
  const screenshot_base64 = engine.kind === "vision-chat" ? picture : null;
  const shown = { url, title, aria: aria.text, screenshot_base64 };
  return { shown, refs: aria.refs, picture };
}

/** Asks once more, stating what was wrong, when the answer is not an action. @throws ChatError */
async function nextMove(
  { engines, signal }: AgentRun,
  engine: ResolvedEngine,
  messages: ReturnType<typeof agentMessages>,
  count: (reply: ChatReply) => void,
): Promise<AgentMove> {
  const schema = { name: "action", schema: AGENT_MOVE_SCHEMA };
  let asked = messages;
  for (let again = false; ; again = true) {
    let problem: string;
    let said: string;
    try {
      const reply = await engines.chat(engine, { messages: asked, schema }, signal);
      count(reply);
      const move = AgentMove.safeParse(reply.json);
      if (move.success) return move.data;
      const [issue] = move.error.issues;
      problem = `${issue?.path.join(".") || "action"}: ${issue?.message ?? "is not valid"}`;
      said = reply.text;
    } catch (err) {
      if (!(err instanceof ChatError) || err.reply === null) throw err;
      problem = "it is not one JSON object with thought and action";
      said = err.reply;
    }
    if (again)
      throw new ChatError(
        "bad_answer",
        `engine ${engine.slug}: no action in its answer (${problem})`,
      );
    asked = corrected(messages, said, problem);
  }
}

/** Why the move failed, or null. */
async function attempt(
  run: AgentRun,
  move: PageMove,
  refs: ReadonlySet<string>,
  left_ms: number,
): Promise<string | null> {
  const longest = move.action === "wait" ? move.seconds * 1_000 + MOVE_MS : MOVE_MS;
  const timeout_ms = Math.max(1, Math.min(longest, left_ms));
  try {
    await makeMove({ ...run, timeout_ms }, move, refs);
    return null;
  } catch (err) {
    const failure = failureOf(err);
    if (failure.kind === "gone") throw failure;
    return failure.error.message.split("\n")[0]?.slice(0, MAX_ERROR) ?? "failed";
  }
}

import { ChatError } from "#shared/llm/chat-message.ts";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import type { AskResult } from "#shared/protocol/schema/page-agent.ts";
import { askMessages, type ShownPage } from "../llm/prompts.ts";
import type { ActionContext } from "./context.ts";
import { type EngineCalls, engineFailure } from "./engine-call.ts";
import { ActionFailure } from "./failure.ts";
import { smallPicture } from "./picture.ts";
import { seePage } from "./snapshot.ts";

const MAX_PAGE_CHARS = 30_000;
const MAX_PICTURE_BYTES = 400 * 1024;
/** A page that yields no accessibility tree within this time hangs. */
const PAGE_MS = 20_000;

/**
 * Answers one question about the active tab (rules/session-actions#ask). An engine of kind vision-chat sees it too.
 * @throws ActionFailure
 */
export async function ask(
  ctx: Pick<ActionContext, "pages" | "timeout_ms" | "signal">,
  { prompt, engine: slug, schema, screenshot }: SessionActionArgs<"ask">,
  { resolve, chat }: EngineCalls,
): Promise<AskResult> {
  const engine = await resolve(slug, ctx.signal);
  if (screenshot && engine.kind !== "vision-chat")
    throw new ActionFailure("invalid", {
      name: "EngineError",
      message: `engine ${engine.slug}: is of kind ${engine.kind} and cannot see screenshots`,
    });
  const page = ctx.pages.active();
  const timeout_ms = Math.min(PAGE_MS, ctx.timeout_ms);
  const sees = engine.kind === "vision-chat" && screenshot !== false;
  const [{ url, title, aria }, screenshot_base64] = await Promise.all([
    seePage(page, { max_chars: MAX_PAGE_CHARS, timeout_ms, refs: false }),
    sees ? smallPicture(page, MAX_PICTURE_BYTES) : null,
  ]);
  const shown: ShownPage = { url, title, aria: aria.text, screenshot_base64 };
  const request = {
    messages: askMessages(prompt, shown),
    ...(schema && { schema: { name: "answer", schema } }),
  };
  try {
    const { text, json, model, usage } = await chat(engine, request, ctx.signal);
    return { text, ...(schema && { json }), engine: engine.slug, model, usage };
  } catch (err) {
    throw err instanceof ChatError ? engineFailure(err) : err;
  }
}

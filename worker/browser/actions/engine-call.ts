import type { ChatError, ChatReply, ChatRequest } from "#shared/llm/chat-message.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { ActionFailure } from "./failure.ts";

/** Calls engines for an action, within the action's own time. */
export interface EngineCalls {
  /** @throws ActionFailure */
  resolve(slug: string, signal: AbortSignal): Promise<ResolvedEngine>;
  /** @throws ChatError */
  chat(engine: ResolvedEngine, request: ChatRequest, signal: AbortSignal): Promise<ChatReply>;
}

/**
 * Turns an engine's failure into an action's (rules/session-actions#ask): 504 when it is late, 502 when it is gone,
 * 422 when it refused.
 */
export function engineFailure(err: ChatError): ActionFailure {
  const { kind, message, status } = err;
  const error = { name: "EngineError", message };
  // The action's own time is over: the end of a session is reported earlier.
  if (kind === "cancelled")
    return new ActionFailure("timeout", {
      name: "TimeoutError",
      message: "the engine did not answer within the action's time",
    });
  if (kind === "timeout") return new ActionFailure("timeout", error);
  const gone =
    kind === "network" || kind === "cut_off" || (kind === "http_status" && (status ?? 0) >= 500);
  return new ActionFailure(gone ? "broken" : "page", error);
}

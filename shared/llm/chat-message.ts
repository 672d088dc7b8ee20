import type { TokenUsage } from "#shared/protocol/schema/attempt.ts";

/** Chat completions as our callers see them (rules/engines#engine-record); `chat.ts` speaks the protocol. */

export type ChatPart =
  | { type: "text"; text: string }
  | { type: "image"; mime: string; content_base64: string };

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string | ChatPart[];
}

export interface ChatRequest {
  messages: ChatMessage[];
  /** The answer must be JSON of this JSON schema; requested with `response_format` where the backend offers it. */
  schema?: { name: string; schema: Record<string, unknown> };
  max_tokens?: number;
  temperature?: number;
}

export interface ChatReply {
  /** The answer without think blocks; a reasoning model's reasoning when its content was empty. */
  text: string;
  /** What a thinking model thought, or null. */
  thinking: string | null;
  /** Parsed, and of the requested schema's outer shape; undefined when no schema was requested. */
  json: unknown;
  /** As the backend calls it. */
  model: string;
  /** HTTP status of the answer. */
  status: number;
  usage: TokenUsage | null;
  finish_reason: string | null;
  /** Requests made: 2 after one retry. */
  requests: number;
  ms: number;
}

export const CHAT_ERRORS = [
  "timeout",
  "network",
  "refused_address",
  "auth",
  "rate_limited",
  "http_status",
  "bad_answer",
  "cut_off",
  "too_long",
  "cancelled",
] as const;
export type ChatErrorKind = (typeof CHAT_ERRORS)[number];

/**
 * A chat that ended without an answer. `message` names the engine, if it has a name, and holds no key; `cause` is what
 * the network threw.
 * - `timeout`: the engine's `timeout_s` are over, or the backend fell silent midway
 * - `network`: no connection, or it was cut before anything came
 * - `cut_off`: cut after something had come
 * - `bad_answer`: not the protocol, or not the requested JSON (`reply` has the answer)
 * - `too_long`: more than 1 MB, or nothing before the backend's limit of tokens
 */
export class ChatError extends Error {
  readonly kind: ChatErrorKind;
  /** HTTP status of the last answer, or null. */
  readonly status: number | null;
  /** The answer, for `bad_answer`; else null. */
  readonly reply: string | null;
  constructor(
    kind: ChatErrorKind,
    message: string,
    status: number | null = null,
    reply: string | null = null,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = "ChatError";
    this.kind = kind;
    this.status = status;
    this.reply = reply;
  }
}

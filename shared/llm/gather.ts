import { parseJson } from "#shared/kit/json.ts";
import type { TokenUsage } from "#shared/protocol/schema/attempt.ts";
import { ChatError } from "./chat-message.ts";

/** Limit for the answer and the thoughts together. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** A backend's answer, put together from chunks or from one body. */
export interface Gathered {
  content: string;
  /** `reasoning` or `reasoning_content`, depending on the backend. */
  reasoning: string;
  /** Arguments of the requested function call. */
  tool: string;
  model: string | null;
  usage: TokenUsage | null;
  finish_reason: string | null;
  /** Whether there was a choice at all. */
  choices: boolean;
}

interface Gatherer {
  /**
   * One `chat.completion.chunk`, or a whole `chat.completion`.
   * @throws ChatError bad_answer for an error in its place, too_long
   */
  add(part: unknown): void;
  readonly said: Gathered;
}

interface Part {
  model?: unknown;
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null;
  error?: unknown;
  choices?: { delta?: Said; message?: Said; finish_reason?: unknown }[];
}
interface Said {
  content?: unknown;
  reasoning?: unknown;
  reasoning_content?: unknown;
  tool_calls?: { function?: { arguments?: unknown } }[] | null;
}

/** @param onText receives the answer's text piece by piece, think blocks included */
export function createGatherer(onText: (piece: string) => void): Gatherer {
  const said: Gathered = {
    content: "",
    reasoning: "",
    tool: "",
    model: null,
    usage: null,
    finish_reason: null,
    choices: false,
  };
  let bytes = 0;
  const counted = (text: string): string => {
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_ANSWER_BYTES)
      throw new ChatError("too_long", `the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    return text;
  };
  return {
    said,
    add: (raw) => {
      const part = (typeof raw === "object" ? raw : null) as Part | null;
      if (part?.error) throw new ChatError("bad_answer", `the backend failed: ${reasonOf(raw)}`);
      if (typeof part?.model === "string" && part.model !== "") said.model = part.model;
      said.usage = usageOf(part) ?? said.usage;
      const choice = Array.isArray(part?.choices) ? part.choices[0] : undefined;
      if (!choice) return;
      said.choices = true;
      if (typeof choice.finish_reason === "string") said.finish_reason = choice.finish_reason;
      const { content, reasoning, reasoning_content, tool_calls } =
        choice.delta ?? choice.message ?? {};
      const piece = counted(textOf(content));
      said.content += piece;
      if (piece !== "") onText(piece);
      said.reasoning += counted(textOf(reasoning) || textOf(reasoning_content));
      said.tool += counted(textOf(tool_calls?.[0]?.function?.arguments));
    },
  };
}

/** A text, or the texts of a list of parts. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

function usageOf(part: Part | null): TokenUsage | null {
  const { prompt_tokens, completion_tokens } = part?.usage ?? {};
  if (!Number.isInteger(prompt_tokens) || !Number.isInteger(completion_tokens)) return null;
  return {
    prompt_tokens: prompt_tokens as number,
    completion_tokens: completion_tokens as number,
  };
}

const MAX_REASON = 300;

/** The reason an OpenAI-compatible server gives, else the beginning of its answer. */
export function reasonOf(answer: unknown): string {
  const value = typeof answer === "string" ? parsed(answer) : answer;
  const { error, message, detail } = (value ?? {}) as Record<string, unknown>;
  const inner =
    typeof error === "object" ? (error as { message?: unknown } | null)?.message : error;
  const reason = [inner, message, detail].find((text) => typeof text === "string");
  const text = reason ?? (typeof answer === "string" ? answer : JSON.stringify(answer));
  return String(text).replace(/\s+/g, " ").trim().slice(0, MAX_REASON) || "(empty)";
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

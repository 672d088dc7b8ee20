import { abortAfter, type Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { type GuardedPost, RefusedAddress } from "#shared/kit/guarded-post.ts";
import type { Mask } from "#shared/kit/secret-forms.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { retryAfterMs } from "../kit/retry-after.ts";
import type { JsonWay, Without } from "./body.ts";
import { ChatError, type ChatErrorKind, type ChatReply, type ChatRequest } from "./chat-message.ts";
import type { Gathered } from "./gather.ts";
import { reasonOf } from "./gather.ts";
import { findJson } from "./json-answer.ts";
import { createKeyMask } from "./key-mask.ts";
import { type Answered, type Call, requestOnce } from "./request-once.ts";
import { splitThinking } from "./think.ts";

export interface ChatOptions {
  clock: Clock;
  /** Ends the chat with `cancelled`. */
  signal: AbortSignal;
  /** The answer's text as it arrives, including think blocks; a second try starts from the beginning. */
  onText?: (piece: string) => void;
  /** For tests: how names resolve. */
  resolve?: GuardedPost["resolve"];
}

/** The wait before the second try if the backend names no time; there is none after a cut connection. */
const RETRY_MS = { refused: 1_000, cut: 200 };

/** Failures of an answer that had come. */
const OF_ANSWER: ReadonlySet<ChatErrorKind> = new Set(["bad_answer", "cut_off", "too_long"]);

/**
 * One chat completion (rules/engines#one-retry-of-an-engine), streamed, within the engine's `timeout_s`, which includes
 * every try. After a 429, a 5xx or a connection that was cut before anything came, the engine is asked once more if
 * Retry-After leaves time for it. JSON is requested in the strictest way that the backend does not refuse.
 * @throws ChatError, always
 */
export async function chat(
  engine: ResolvedEngine,
  request: ChatRequest,
  { clock, signal, onText, resolve }: ChatOptions,
): Promise<ChatReply> {
  const since = clock.monotonic();
  const timeout_ms = Math.round(engine.timeout_s * 1_000);
  const mask = createKeyMask(engine.headers);
  const over = new AbortController();
  const late = abortAfter(clock, timeout_ms, over.signal);
  const shown = mask.stream((piece) => onText?.(piece));
  let status: number | null = null;
  try {
    const { said, requests } = await askUntilAnswered({
      engine,
      request,
      clock,
      resolve,
      onText: shown.push,
      onStatus: (now) => {
        status = now;
      },
      signal: AbortSignal.any([signal, late]),
      until: since + timeout_ms,
    });
    shown.end();
    const reply = { ...readSaid(said, request, mask), requests, ms: clock.monotonic() - since };
    return { ...reply, model: said.model ?? engine.model, status: status ?? 0 };
  } catch (err) {
    const failed = signal.aborted
      ? new ChatError("cancelled", "the chat was cancelled")
      : late.aborted
        ? new ChatError("timeout", `no answer within ${engine.timeout_s} s`)
        : chatErrorOf(err);
    const { kind, reply, cause } = failed;
    const message =
      engine.slug === "" ? failed.message : `engine ${engine.slug}: ${failed.message}`;
    const of_answer = OF_ANSWER.has(kind) ? status : null;
    throw new ChatError(kind, mask.text(message), failed.status ?? of_answer, reply, cause);
  } finally {
    over.abort();
  }
}

/** Optional parts of a request that a backend may refuse, by the words of its 400. */
const REFUSABLE: [RegExp, keyof Without][] = [
  [/stream_options|include_usage/, "stream_options"],
  [/max_completion_tokens/, "max_tokens"],
  [/temperature/, "temperature"],
];
/** A prompt that is too long stays too long in every format. */
const TOO_MUCH = /context (length|window|size)|maximum context|too (long|large|many)/i;

async function askUntilAnswered(
  call: Omit<Call, "way" | "without"> & { until: number },
): Promise<{ said: Gathered; requests: number }> {
  const ways: JsonWay[] = ["json_schema", "tool", "json_object", "prompt"];
  const offered = ways.filter((way) => way !== "tool" || call.engine.supports_tools);
  const without: Without = { stream_options: false, temperature: false, max_tokens: false };
  let retried = false;
  for (let requests = 1; ; requests += 1) {
    const way = call.request.schema ? (offered[0] ?? null) : null;
    const answered = await requestOnce({ ...call, way, without }).catch((err) => {
      if (call.signal.aborted || !isPassing(err)) throw err;
      return { failed: err as unknown };
    });
    if ("said" in answered) return { said: answered.said, requests };
    let wait = RETRY_MS.cut;
    if ("status" in answered) {
      if (adapt(answered, without, offered)) continue;
      if (!isPassingStatus(answered.status)) throw refusalOf(answered);
      wait = retryAfterMs(answered.retry_after, call.clock.now()) ?? RETRY_MS.refused;
    }
    if (retried || call.clock.monotonic() + wait >= call.until)
      throw "status" in answered ? refusalOf(answered) : answered.failed;
    retried = true;
    await call.clock.sleep(wait, call.signal);
    call.signal.throwIfAborted();
  }
}

const isPassingStatus = (status: number): boolean => status === 429 || status >= 500;

/** Names and certificates do not change within a second. */
const isPassing = (err: unknown): boolean =>
  !(err instanceof ChatError || err instanceof RefusedAddress) &&
  !/ENOTFOUND|CERT|TLS|SSL|SIGNED|UNABLE_TO_VERIFY/i.test(codeOf(err));

/** Removes the refused part from the next request. False when the refusal is about the request itself. */
function adapt({ status, text }: Refused, without: Without, offered: JsonWay[]): boolean {
  if (status !== 400 && status !== 422) return false;
  const reason = reasonOf(text);
  const found = REFUSABLE.find(([about, name]) => about.test(reason) && !without[name]);
  if (found) without[found[1]] = true;
  else if (offered.length > 1 && !TOO_MUCH.test(reason)) offered.shift();
  else return false;
  return true;
}

type Refused = Exclude<Answered, { said: Gathered }>;

function refusalOf({ status, text }: Refused): ChatError {
  const kinds: Record<number, ChatErrorKind> = { 401: "auth", 403: "auth", 429: "rate_limited" };
  return new ChatError(kinds[status] ?? "http_status", `HTTP ${status}: ${reasonOf(text)}`, status);
}

const codeOf = (err: unknown): string => String((err as { code?: unknown } | null)?.code ?? "");

function chatErrorOf(err: unknown): ChatError {
  if (err instanceof ChatError) return err;
  if (err instanceof RefusedAddress) return new ChatError("refused_address", err.message);
  const code = codeOf(err);
  const message = errorMessage(err);
  const said = code === "" || message.includes(code) ? message : `${message} (${code})`;
  return new ChatError("network", `the backend cannot be reached: ${said}`, null, null, err);
}

/** @throws ChatError bad_answer, too_long */
function readSaid(
  said: Gathered,
  { schema }: ChatRequest,
  mask: Mask,
): Pick<ChatReply, "text" | "thinking" | "json" | "usage" | "finish_reason"> {
  const { usage, finish_reason } = said;
  if (!said.choices) throw new ChatError("bad_answer", "the answer has no choices");
  const { text, thinking } = answerIn(said);
  const answer = mask.text(text);
  const cut = finish_reason === "length" ? " (it ended at the limit of tokens)" : "";
  if (answer === "" && cut !== "") throw new ChatError("too_long", `no answer came${cut}`);
  if (answer === "") throw new ChatError("bad_answer", "the answer is empty");
  const json = schema ? findJson(answer, schema.schema) : undefined;
  if (schema && json === undefined)
    throw new ChatError("bad_answer", `the answer is not the JSON asked for${cut}`, null, answer);
  return {
    text: answer,
    json,
    usage,
    finish_reason,
    thinking: thinking === null ? null : mask.text(thinking),
  };
}

/** The answer is in the content, else in the function call, else at the end of the reasoning (rules/engines#thinking). */
function answerIn({ content, reasoning, tool, finish_reason }: Gathered) {
  const spoken = splitThinking(content);
  const apart = splitThinking(reasoning);
  const thoughts = [apart.thinking, apart.text || null, spoken.thinking];
  const thinking = thoughts.filter((thought) => thought !== null).join("\n\n") || null;
  const text = spoken.text || tool.trim();
  if (text !== "" || finish_reason === "length") return { text, thinking };
  if (apart.text !== "") return { text: apart.text, thinking: apart.thinking };
  return { text: spoken.thinking ?? "", thinking: null };
}

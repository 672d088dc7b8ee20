import { badRequest, invalid, notFound } from "#shared/kit/errors.ts";
import { chat } from "#shared/llm/chat.ts";
import { ChatError, type ChatErrorKind, type ChatReply } from "#shared/llm/chat-message.ts";
import { completionsUrl } from "#shared/llm/endpoint.ts";
import type { LlmErrorKind, LlmTest, LlmTested } from "#shared/protocol/schema/operations.ts";
import type { PipelineContext } from "../context.ts";
import { readSetting } from "./settings.ts";

const MAX_REPLY = 2_000;
/** Enough for a thinking model to finish thinking and answer. */
const MAX_TOKENS = 512;

type LlmContext = Pick<PipelineContext, "config" | "clock" | "log"> & {
  db: Pick<PipelineContext["db"], "settings">;
};

interface Target {
  url: string;
  model: string | null;
  api_key_env: string | null;
}

/**
 * Asks an engine for one chat completion and reports how that went (rules/pipeline-operations#engine-test). A failed
 * test is an answer, not an error.
 * @throws AppError not_found for an engine that is not configured, bad_request or invalid for a body that names none
 */
export async function testLlm(ctx: LlmContext, test: LlmTest): Promise<LlmTested> {
  const target = await targetOf(ctx, test);
  const timeout_s = await readSetting(ctx, "llm_timeout_s");
  const started = performance.now();
  const since = () => Math.round(performance.now() - started);
  const key = keyOf(ctx, target);
  if ("missing" in key)
    return told(ctx, target, { error_kind: "no_key", error: key.missing, latency_ms: since() });
  try {
    const { text, model, status } = await ask(ctx, target, key.headers, test.prompt, timeout_s);
    const answered = { model: model || null, status, latency_ms: since() };
    return told(ctx, target, { ...answered, ok: true, reply: text.slice(0, MAX_REPLY) });
  } catch (err) {
    if (!(err instanceof ChatError)) throw err;
    const { message: error, status } = err;
    return told(ctx, target, { error_kind: kindOf(err), error, status, latency_ms: since() });
  }
}

/** The result, written to the log without what was said. */
function told(
  { log }: LlmContext,
  { url, model }: Target,
  result: Partial<LlmTested> & Pick<LlmTested, "latency_ms">,
): LlmTested {
  const nothing = { ok: false, error_kind: null, status: null, reply: null, error: null };
  const tested: LlmTested = { ...nothing, model, ...result };
  const { reply: _reply, ...fields } = tested;
  const { host } = new URL(url);
  if (tested.ok) log.info({ host, ...fields }, "engine tested");
  else log.warn({ host, ...fields }, "engine test failed");
  return tested;
}

/** The headers that carry the key, or why there is none. */
function keyOf(
  { config }: LlmContext,
  { api_key_env }: Target,
): { headers: Record<string, string> } | { missing: string } {
  if (api_key_env === null) return { headers: {} };
  const key = config.engineKey(api_key_env);
  if (key === null) return { missing: `SVC_ENGINE_KEY_ENV does not allow ${api_key_env}` };
  if (key === undefined) return { missing: `the variable ${api_key_env} is not set` };
  return { headers: { authorization: `Bearer ${key}` } };
}

async function targetOf(ctx: LlmContext, test: LlmTest): Promise<Target> {
  const { engine, url, model = null, api_key_env = null } = test;
  if (url !== undefined) {
    if (engine !== undefined) throw invalid(["body", "engine"], "give either engine or url");
    return { url, model, api_key_env };
  }
  if (api_key_env !== null) throw badRequest("body.url is required with api_key_env");
  const engines = await readSetting(ctx, "llm_engines");
  const name = engine ?? (await readSetting(ctx, "llm_default_engine"));
  const only = engines.length === 1 ? engines[0] : undefined;
  const found = name === null ? only : engines.find((known) => known.name === name);
  if (found) return { ...found, model: model ?? found.model };
  if (name !== null) throw notFound(`engine ${name}`);
  throw badRequest("body.engine or body.url is required: no default engine is configured");
}

/** @throws ChatError */
function ask(
  { clock }: LlmContext,
  { url, model }: Target,
  headers: Record<string, string>,
  prompt: string,
  timeout_s: number,
): Promise<ChatReply> {
  const engine = {
    slug: "",
    kind: "chat" as const,
    url: completionsUrl(url),
    model: model ?? "",
    timeout_s,
    headers,
    supports_tools: false,
  };
  const messages = [{ role: "user" as const, content: prompt }];
  const never = new AbortController().signal;
  return chat(engine, { messages, max_tokens: MAX_TOKENS }, { clock, signal: never });
}

const BY_CHAT: Record<Exclude<ChatErrorKind, "network">, LlmErrorKind> = {
  refused_address: "refused_address",
  timeout: "timeout",
  cancelled: "timeout",
  auth: "auth",
  rate_limited: "http_status",
  http_status: "http_status",
  cut_off: "network",
  bad_answer: "bad_json",
  too_long: "bad_json",
};
const BY_CODE: Record<string, LlmErrorKind> = {
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  ENODATA: "dns",
  ECONNREFUSED: "refused",
};

function kindOf({ kind, cause }: ChatError): LlmErrorKind {
  if (kind !== "network") return BY_CHAT[kind];
  const code = String((cause as { code?: unknown } | undefined)?.code ?? "");
  return BY_CODE[code] ?? (/CERT|TLS|SSL|SIGNED|UNABLE_TO_VERIFY/i.test(code) ? "tls" : "network");
}

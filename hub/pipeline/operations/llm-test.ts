import { abortAfter, DeadlineError } from "#shared/kit/clock.ts";
import { badRequest, errorMessage, invalid, notFound } from "#shared/kit/errors.ts";
import { RefusedAddress } from "#shared/kit/guarded-post.ts";
import { parseJson } from "#shared/kit/json.ts";
import { createLogMask } from "#shared/kit/log-mask.ts";
import { completionsUrl } from "#shared/llm/endpoint.ts";
import type { LlmErrorKind, LlmTest, LlmTested } from "#shared/protocol/schema/operations.ts";
import type { PipelineContext } from "../context.ts";
import { postJson } from "./post-json.ts";
import { readSetting } from "./settings.ts";

const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_REPLY = 2_000;
const MAX_EXCERPT = 300;
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

/** A test that ends without a reply; `status` when there was an answer at all. */
class TestFailed extends Error {
  readonly kind: LlmErrorKind;
  readonly status: number | null;
  constructor(kind: LlmErrorKind, message: string, status: number | null = null) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/**
 * Asks an engine for one chat completion and reports how that went (rules/pipeline-operations#engine-test). A failed
 * test is an answer, not an error.
 * @throws AppError not_found for an engine that is not configured, bad_request or invalid for a body that names none
 */
export async function testLlm(ctx: LlmContext, test: LlmTest): Promise<LlmTested> {
  const target = await targetOf(ctx, test);
  const timeout_ms = Math.round((await readSetting(ctx, "llm_timeout_s")) * 1_000);
  const { api_key_env } = target;
  const key = api_key_env === null ? null : ctx.config.engineKey(api_key_env);
  const mask = createLogMask([key ?? null]);
  const started = performance.now();
  const since = () => Math.round(performance.now() - started);
  try {
    if (api_key_env !== null && key === null)
      throw new TestFailed("no_key", `SVC_ENGINE_KEY_ENV does not allow ${api_key_env}`);
    if (key === undefined) throw new TestFailed("no_key", `the variable ${api_key_env} is not set`);
    const { model, reply, status } = await ask(ctx, target, key, test.prompt, timeout_ms);
    const answered = { model, status, latency_ms: since() };
    ctx.log.info({ host: new URL(target.url).host, ...answered }, "engine tested");
    const shown = mask.text(reply).slice(0, MAX_REPLY);
    return { ok: true, ...answered, reply: shown, error_kind: null, error: null };
  } catch (err) {
    const { kind, status, message } = failureOf(err, timeout_ms);
    const failed = { error_kind: kind, status, error: mask.text(message), latency_ms: since() };
    ctx.log.warn({ host: new URL(target.url).host, ...failed }, "engine test failed");
    return { ok: false, model: target.model, reply: null, ...failed };
  }
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

async function ask(
  { clock }: LlmContext,
  target: Target,
  key: string | null,
  prompt: string,
  timeout_ms: number,
): Promise<{ model: string | null; reply: string; status: number }> {
  const over = new AbortController();
  try {
    const { status, text } = await postJson({
      url: completionsUrl(target.url),
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      body: {
        ...(target.model === null ? {} : { model: target.model }),
        messages: [{ role: "user", content: prompt }],
        ...{ max_tokens: MAX_TOKENS, stream: false },
      },
      signal: abortAfter(clock, timeout_ms, over.signal),
      max_bytes: MAX_ANSWER_BYTES,
    });
    return { status, ...readAnswer(target, status, text) };
  } finally {
    over.abort();
  }
}

function readAnswer(target: Target, status: number, text: string) {
  if (status < 200 || status > 299) {
    const kind = status === 401 || status === 403 ? "auth" : "http_status";
    throw new TestFailed(kind, `HTTP ${status}: ${excerptOf(text)}`, status);
  }
  const { model, choices } = (parsed(text) ?? {}) as {
    model?: unknown;
    choices?: { message?: { content?: unknown } }[];
  };
  const reply = Array.isArray(choices) ? choices[0]?.message?.content : undefined;
  if (typeof reply !== "string") {
    const what = parsed(text) === undefined ? "is not JSON" : "has no choices[0].message.content";
    throw new TestFailed("bad_json", `the answer ${what}: ${excerptOf(text)}`, status);
  }
  return { reply, model: typeof model === "string" ? model : target.model };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The reason an OpenAI-compatible server gives, else the beginning of what it said. */
function excerptOf(text: string): string {
  const { error } = (parsed(text) ?? {}) as { error?: { message?: unknown } | string };
  const reason = typeof error === "object" ? error?.message : error;
  const said = typeof reason === "string" ? reason : text;
  return said.replace(/\s+/g, " ").trim().slice(0, MAX_EXCERPT) || "(empty)";
}

const BY_CODE: Record<string, LlmErrorKind> = {
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  ENODATA: "dns",
  ECONNREFUSED: "refused",
};

function failureOf(
  err: unknown,
  timeout_ms: number,
): Pick<TestFailed, "kind" | "status" | "message"> {
  if (err instanceof TestFailed) return err;
  const failed = (kind: LlmErrorKind, message = errorMessage(err)) => ({
    ...{ kind, message, status: null },
  });
  if (err instanceof RefusedAddress) return failed("refused_address");
  if (err instanceof DeadlineError)
    return failed("timeout", `no answer within ${timeout_ms / 1_000} s`);
  if (err instanceof RangeError) return failed("bad_json");
  const code = String((err as { code?: unknown } | null)?.code ?? "");
  const kind = BY_CODE[code];
  if (kind) return failed(kind);
  return failed(/CERT|TLS|SSL|SIGNED|UNABLE_TO_VERIFY/i.test(code) ? "tls" : "network");
}

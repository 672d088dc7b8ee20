import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import type { ChatMessage, ChatRequest } from "./chat-message.ts";

/**
 * Ways to ask for JSON, the strictest first: a backend answers 400 to what it does not support. Only engines that
 * support tools are asked for a forced function call.
 */
export type JsonWay = "json_schema" | "tool" | "json_object" | "prompt";

/** Parts left out of a request because the backend refused them before. */
export interface Without {
  stream_options: boolean;
  temperature: boolean;
  /** Newer backends have another name for the limit. */
  max_tokens: boolean;
}

/** The body of one request to the chat-completions protocol. `way`: null when no JSON is asked for. */
export function bodyOf(
  engine: Pick<ResolvedEngine, "model" | "kind">,
  request: ChatRequest,
  way: JsonWay | null,
  without: Without,
): Record<string, unknown> {
  const { schema, max_tokens, temperature } = request;
  const messages = request.messages.map((message) => wireMessage(message, engine.kind));
  if (schema && (way === "json_object" || way === "prompt")) askInWords(messages, schema.schema);
  return {
    // A backend that has one model may be asked without its name.
    ...(engine.model === "" ? {} : { model: engine.model }),
    messages,
    stream: true,
    ...(without.stream_options ? {} : { stream_options: { include_usage: true } }),
    ...(temperature === undefined || without.temperature ? {} : { temperature }),
    ...(max_tokens === undefined
      ? {}
      : { [without.max_tokens ? "max_completion_tokens" : "max_tokens"]: max_tokens }),
    ...(schema && way ? formatOf(schema, way) : {}),
  };
}

function formatOf({ name, schema }: NonNullable<ChatRequest["schema"]>, way: JsonWay): object {
  switch (way) {
    case "json_schema":
      return { response_format: { type: "json_schema", json_schema: { name, schema } } };
    case "tool":
      return {
        tools: [{ type: "function", function: { name, parameters: schema } }],
        tool_choice: { type: "function", function: { name } },
      };
    case "json_object":
      return { response_format: { type: "json_object" } };
    case "prompt":
      return {};
  }
}

type WirePart = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };
interface WireMessage {
  role: ChatMessage["role"];
  content: string | WirePart[];
}

/** Images go to engines that accept them; the others get plain text, which every backend accepts. */
function wireMessage({ role, content }: ChatMessage, kind: ResolvedEngine["kind"]): WireMessage {
  if (typeof content === "string") return { role, content };
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (kind !== "vision-chat" || texts.length === content.length)
    return { role, content: texts.join("\n\n") };
  return {
    role,
    content: content.map((part) =>
      part.type === "text"
        ? { type: "text", text: part.text }
        : {
            type: "image_url",
            image_url: { url: `data:${part.mime};base64,${part.content_base64}` },
          },
    ),
  };
}

/** At the end of the last message: some chat templates allow a system message only at the beginning. */
function askInWords(messages: WireMessage[], schema: Record<string, unknown>): void {
  const last = messages.at(-1);
  if (!last) return;
  const text = `Answer with one JSON value and nothing else. It must be valid against this JSON schema:\n${JSON.stringify(schema)}`;
  if (typeof last.content === "string") last.content = `${last.content}\n\n${text}`;
  else last.content.push({ type: "text", text });
}

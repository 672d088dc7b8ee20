/** What the test engine does with one request. Everything is JSON, so that a script may lie in a file. */
export type LlmTurn = {
  /** Only for requests whose body holds this text; the first unused turn that fits is taken. */
  when?: string;
  /** How often the turn may be taken; 1 by default, 0 for without end. */
  times?: number;
} & (
  | LlmAnswer
  | { kind: "status"; status: number; body?: unknown; headers?: Record<string, string> }
  /** Cuts the connection after so many pieces of the answer; 0: before the first byte. */
  | ({ kind: "cut"; after: number } & Omit<LlmAnswer, "kind">)
  /** Takes the request and never says a word. */
  | { kind: "silent" }
  /** Exactly these bytes as the body of a 200, one write each. */
  | { kind: "raw"; chunks: string[]; content_type?: string }
);

export interface LlmAnswer {
  kind: "answer";
  text?: string;
  /** In a `<think>` block before the text. */
  think?: string;
  /** In the field beside the content. */
  reasoning?: string;
  reasoning_field?: "reasoning" | "reasoning_content";
  /** Answered with one plain JSON object, although a stream was asked for. */
  plain?: boolean;
  /** Pieces of the stream; one word each by default. */
  pieces?: string[];
  /** Said in the function call that was asked for, when one was; else as text. */
  as_tool?: boolean;
  finish_reason?: string;
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  /** Waited between the pieces. For tests `gate` of the server is better. */
  interval_ms?: number;
}

/** The chunks of an answer as `data:` of a stream, or the one body of a plain answer. */
export function chunksOf(
  answer: Omit<LlmAnswer, "kind">,
  body: { model?: unknown; tools?: unknown; stream_options?: unknown },
): string[] {
  const { think, text = "", reasoning, reasoning_field = "reasoning", plain = false } = answer;
  const { finish_reason = "stop", usage = { prompt_tokens: 11, completion_tokens: 7 } } = answer;
  const head = { id: "chat-1", model: String(body.model ?? "test-model") };
  const whole = think === undefined ? text : `<think>\n${think}\n</think>\n\n${text}`;
  const call = answer.as_tool === true && Array.isArray(body.tools);
  const said = (content: string) =>
    call ? { tool_calls: [{ index: 0, function: { arguments: content } }] } : { content };
  const thought = reasoning === undefined ? {} : { [reasoning_field]: reasoning };
  if (plain) {
    const message = { role: "assistant", ...said(whole), ...thought };
    const choices = [{ index: 0, message, finish_reason }];
    return [JSON.stringify({ ...head, object: "chat.completion", choices, usage })];
  }
  const chunk = (delta: object, finish: string | null = null) => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const pieces = answer.pieces ?? whole.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
  const chunks: unknown[] = [
    chunk({ role: "assistant", content: "" }),
    ...(reasoning === undefined ? [] : [chunk(thought)]),
    ...pieces.map((piece) => chunk(said(piece))),
    chunk({}, finish_reason),
    ...(usage && body.stream_options ? [{ ...head, choices: [], usage }] : []),
  ];
  return [...chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`), "data: [DONE]\n\n"];
}

import type { AttemptRow } from "#hub/platform/db/rows.ts";
import type { ChatReply, ChatRequest } from "#shared/llm/chat-message.ts";
import type { AttemptTimings } from "#shared/protocol/schema/attempt.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import type { ScriptedJob } from "./job.ts";

/** One chat for an attempt; its time and tokens are added to the attempt's, also when it fails. @throws ChatError */
export async function askEngine(
  { ctx, signal }: ScriptedJob,
  engine: ResolvedEngine,
  request: ChatRequest,
  attempt: AttemptRow,
  timing: keyof AttemptTimings,
): Promise<ChatReply> {
  const { clock, script_tools } = ctx;
  const since = clock.monotonic();
  try {
    const reply = await script_tools.chat(engine, request, { clock, signal });
    if (reply.usage) {
      const { prompt_tokens, completion_tokens } = reply.usage;
      attempt.tokens = {
        prompt_tokens: (attempt.tokens?.prompt_tokens ?? 0) + prompt_tokens,
        completion_tokens: (attempt.tokens?.completion_tokens ?? 0) + completion_tokens,
      };
    }
    return reply;
  } finally {
    attempt.timings[timing] = Math.round(
      (attempt.timings[timing] ?? 0) + clock.monotonic() - since,
    );
  }
}

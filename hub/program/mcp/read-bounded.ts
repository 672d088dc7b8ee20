import type { CallOf, CallOptions } from "#shared/client/http.ts";
import type { Args, Operation } from "#shared/client/operation.ts";
import { callWithin } from "#shared/kit/call-within.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { ToolRefusal } from "./refusal.ts";
import type { ToolCall } from "./tool.ts";

/** What is read of one answer: pages decide how long texts are, and the hub holds them for a moment. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The JSON of an answer whose size a page decides.
 * @throws ToolRefusal when it is too large, FlotillaError, DeadlineError when it is not there in time
 */
export async function readJson<K extends Operation>(
  { http, clock }: Pick<ToolCall, "http" | "clock">,
  operation: K,
  call: CallOf<K> & Required<Pick<CallOptions, "timeout_ms" | "signal">>,
): Promise<unknown> {
  // The deadline of `open` ends with the headers.
  const limit = { what: operation, ms: call.timeout_ms, signal: call.signal };
  const { bytes, cut } = await callWithin(clock, limit, async (signal) => {
    const asked = [{ ...call, signal }] as unknown as Args<CallOf<K>>;
    return readUpTo(await http.open(operation, ...asked), MAX_BYTES);
  });
  if (cut)
    throw new ToolRefusal(
      `the result has more than ${MAX_BYTES} bytes: ask for a part of it, by a selector or by code that picks what matters`,
    );
  return JSON.parse(Buffer.from(bytes).toString());
}

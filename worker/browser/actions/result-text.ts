import { isNestedDeeper } from "#shared/kit/json.ts";
import { MAX_JSON_DEPTH } from "#shared/protocol/schema/queue.ts";
import { refused } from "./failure.ts";

/** The JSON of what an action or a one-shot call answers. @throws ActionFailure page for a value that is nested too deeply */
export function resultText(result: unknown): string {
  const text = JSON.stringify(result ?? null);
  if (isNestedDeeper(text, MAX_JSON_DEPTH))
    throw refused(`the result is nested more than ${MAX_JSON_DEPTH} levels deep`);
  return text;
}

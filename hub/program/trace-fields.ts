import { currentTrace } from "#hub/platform/tracing/current-trace.ts";

/** What a line of the log says of the call that it is written in (rules/spans#log-lines). */
export function traceFields(): { trace_id: string; span_id: string } | null {
  const trace = currentTrace();
  return trace && { trace_id: trace.trace_id, span_id: trace.span_id };
}

import { AsyncLocalStorage } from "node:async_hooks";
import { formatTraceparent, type TraceContext } from "#shared/kit/tracing/trace-context.ts";

const current = new AsyncLocalStorage<TraceContext>();

/** Runs `work` within a span: what it stores and sends belongs to the span's trace. */
export const inTrace = <T>(context: TraceContext, work: () => T): T => current.run(context, work);

/** The span of the call that is answered now; null outside of calls, and where no traces are made. */
export const currentTrace = (): TraceContext | null => current.getStore() ?? null;

/** For a call that is passed on: it is within the span of this one, not beside it. */
export function withCurrentTrace(headers: Headers): Headers {
  const trace = currentTrace();
  if (trace === null) return headers;
  const own = new Headers(headers);
  own.set("traceparent", formatTraceparent(trace));
  return own;
}

import { hostname } from "node:os";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { TracingSettings } from "./otel-env.ts";
import type { Attributes, FinishedSpan, Resource, SpanKind } from "./otlp.ts";
import { createSpanQueue } from "./span-queue.ts";
import { childOf, type TraceContext } from "./trace-context.ts";

/** What an error message may add to a span. */
const MAX_FAILURE = 200;
const STOP_MS = 3_000;

interface SpanStart {
  kind?: SpanKind;
  /** What it happens within; null: it begins a trace. */
  parent: TraceContext | null;
  /** Epoch milliseconds; now by default. */
  at?: number;
  attributes?: Attributes;
}

/** Something that goes on. It is sent when it ends. */
export interface Span {
  /** For what happens within it, here and elsewhere. */
  readonly context: TraceContext;
  set(attributes: Attributes): void;
  /** `failure`: what went wrong, in words that hold no secret. Only the first call counts. */
  end(failure?: string | null): void;
}

/** Where the spans of this process go (rules/spans); it exists only where a collector is named. */
export interface Tracer {
  start(name: string, start: SpanStart): Span;
  /** A span whose both ends are known already; its context may have been given away long before. */
  tell(context: TraceContext, span: Omit<FinishedSpan, "trace_id" | "span_id">): void;
  stop(): Promise<void>;
}

/** The tracer of a process, which is called `name` unless its variables say otherwise. */
export function openProcessTracer(
  settings: TracingSettings,
  { name, version, clock, log }: { name: string; version: string; clock: Clock; log: Log },
): Tracer {
  const instance = `${hostname()}/${process.pid}`;
  const resource = { service: settings.service ?? name, version, instance };
  return createTracer(settings, { resource, clock, log });
}

export function createTracer(
  { url, headers }: TracingSettings,
  {
    resource,
    clock,
    log,
    random = Math.random,
  }: { resource: Resource; clock: Clock; log: Log; random?: () => number },
): Tracer {
  const queue = createSpanQueue({ url, headers, resource, clock, log, random });
  const tell: Tracer["tell"] = ({ trace_id, span_id, sampled }, span) => {
    if (!sampled) return;
    const failure = span.failure === null ? null : span.failure.slice(0, MAX_FAILURE);
    queue.add({ ...span, trace_id, span_id, failure });
  };
  return {
    tell,
    start: (name, { kind = "internal", parent, at, attributes = {} }) => {
      const context = childOf(parent);
      const from = at ?? clock.now();
      const began = clock.monotonic();
      const all: Record<string, string | number | boolean> = { ...attributes };
      let ended = false;
      return {
        context,
        set: (more) => void Object.assign(all, more),
        end: (failure = null) => {
          if (ended) return;
          ended = true;
          // A wall clock that is set in between must not stretch it.
          const to = at === undefined ? from + clock.monotonic() - began : clock.now();
          const parent_id = parent?.span_id ?? null;
          tell(context, { name, kind, parent_id, from, to, attributes: all, failure });
        },
      };
    },
    stop: () => queue.stop(STOP_MS),
  };
}

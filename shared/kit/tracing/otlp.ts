/** Spans as OTLP writes them in JSON. */

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** As OTLP numbers them. */
const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;
export type SpanKind = keyof typeof KINDS;

export interface FinishedSpan {
  trace_id: string;
  span_id: string;
  parent_id: string | null;
  name: string;
  kind: SpanKind;
  /** Epoch milliseconds, with fractions. */
  from: number;
  to: number;
  attributes: Attributes;
  /** What went wrong; null: nothing. */
  failure: string | null;
}

export interface Resource {
  service: string;
  version: string;
  /** What tells two processes of a service apart. */
  instance: string;
}

const ERROR = 2;

const otlpValue = (value: string | number | boolean) => {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
};
const attributesOf = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) }));

/** Nanoseconds do not fit into a number. */
const nanos = (ms: number): string => {
  const whole = Math.floor(ms);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6)));
};

const spanOf = (span: FinishedSpan) => ({
  traceId: span.trace_id,
  spanId: span.span_id,
  ...(span.parent_id !== null && { parentSpanId: span.parent_id }),
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: nanos(span.from),
  endTimeUnixNano: nanos(Math.max(span.from, span.to)),
  attributes: attributesOf(span.attributes),
  status: span.failure === null ? {} : { code: ERROR, message: span.failure },
});

/** The body of one call to a collector. */
export const otlpBody = (
  { service, version, instance }: Resource,
  spans: readonly FinishedSpan[],
): string => {
  const resource = {
    "service.name": service,
    "service.version": version,
    "service.instance.id": instance,
  };
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "flotilla", version }, spans: spans.map(spanOf) }],
      },
    ],
  });
};

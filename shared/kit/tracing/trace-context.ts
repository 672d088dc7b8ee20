import { randomBytes } from "node:crypto";

/** Which span of which trace something belongs to, as W3C Trace Context has it. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all zero. */
  trace_id: string;
  /** 16 hexadecimal digits, not all zero. */
  span_id: string;
  /** Whether whoever began the trace wants it recorded. */
  sampled: boolean;
}

/** A later version may add fields behind another dash; version ff is none. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MOST_LENGTH = 256;
const ZERO = /^0+$/;

/** What a header, a message or a stored text says; null where it is not one. */
export function parseTraceparent(text: string | null | undefined): TraceContext | null {
  if (!text || text.length > MOST_LENGTH) return null;
  const found = TRACEPARENT.exec(text.trim());
  if (!found) return null;
  const [, version = "", trace_id = "", span_id = "", flags = "", more] = found;
  if (ZERO.test(trace_id) || ZERO.test(span_id)) return null;
  if (version === "00" && more !== undefined) return null;
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const formatTraceparent = ({ trace_id, span_id, sampled }: TraceContext): string =>
  `00-${trace_id}-${span_id}-${sampled ? "01" : "00"}`;

const newId = (bytes: number): string => {
  for (;;) {
    const id = randomBytes(bytes).toString("hex");
    if (!ZERO.test(id)) return id;
  }
};

/** A span within `parent`, or the first of a trace of its own. */
export const childOf = (parent: TraceContext | null): TraceContext => ({
  trace_id: parent?.trace_id ?? newId(16),
  span_id: newId(8),
  sampled: parent?.sampled ?? true,
});

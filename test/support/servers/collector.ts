import { createQueue, type Queue } from "../models/queue.ts";

/** A span as a collector has it. */
export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string | number | boolean>;
  failure: string | null;
}

interface Wire {
  resourceSpans: {
    resource: { attributes: WireAttribute[] };
    scopeSpans: {
      spans: (Omit<CollectedSpan, "attributes" | "failure" | "service"> & {
        attributes: WireAttribute[];
        status: { code?: number; message?: string };
      })[];
    }[];
  }[];
}
interface WireAttribute {
  key: string;
  value: { stringValue?: string; intValue?: string; doubleValue?: number; boolValue?: boolean };
}

export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  spans: Queue<CollectedSpan>;
  requests: { path: string; headers: Headers; spans: number }[];
  /** The status of each answer. */
  answered: Queue<number>;
  /** The status of the answers from now on. */
  answer: number;
  /** Their headers and what they say. */
  headers: Record<string, string>;
  says: object;
  /** Calls are taken and never answered. */
  silent: boolean;
  stop(): Promise<void>;
}

const attributesOf = (all: readonly WireAttribute[]) =>
  Object.fromEntries(
    all.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value;
      const number = intValue === undefined ? doubleValue : Number(intValue);
      return [key, stringValue ?? number ?? boolValue ?? ""];
    }),
  );

function spansOf(body: Wire): CollectedSpan[] {
  return body.resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)["service.name"]);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ status, attributes, ...span }) => ({
        ...span,
        service,
        attributes: attributesOf(attributes),
        failure: status.code === 2 ? (status.message ?? "") : null,
      })),
    );
  });
}

/** A collector of OpenTelemetry, in as much of it as receives traces over HTTP in JSON. */
export function startCollector(): Collector {
  const spans = createQueue<CollectedSpan>();
  const collector: Collector = {
    url: "",
    spans,
    requests: [],
    answered: createQueue<number>(),
    answer: 200,
    headers: {},
    says: {},
    silent: false,
    stop: () => server.stop(true),
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      const found = spansOf((await request.json()) as Wire);
      collector.requests.push({ path: pathname, headers: request.headers, spans: found.length });
      const { answer: status, headers, says, silent } = collector;
      if (status === 200) for (const span of found) spans.push(span);
      collector.answered.push(status);
      if (silent) return new Promise<never>(() => {});
      return Response.json(says, { status, headers });
    },
  });
  collector.url = server.url.origin;
  return collector;
}

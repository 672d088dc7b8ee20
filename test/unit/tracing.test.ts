import { afterEach, expect, test } from "bun:test";
import { SECRETS, shownValue } from "#hub/program/variables/known.ts";
import { loadConfig } from "#hub/program/variables/load.ts";
import { createLog } from "#shared/kit/log.ts";
import { type OtelEnv, tracingOf } from "#shared/kit/tracing/otel-env.ts";
import { childOf, formatTraceparent, parseTraceparent } from "#shared/kit/tracing/trace-context.ts";
import { createTracer, type Tracer } from "#shared/kit/tracing/tracer.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { type Collector, startCollector } from "#test/support/servers/collector.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** Trace contexts, and the way of spans to a collector (rules/spans). */

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

const lines: string[] = [];
let collector: Collector;
let clock: FakeClock;
let tracer: Tracer;
afterEach(async () => {
  await collector?.stop();
});
const start = (headers = {}) => {
  lines.length = 0;
  collector = startCollector();
  clock = createFakeClock();
  const resource = { service: "flotilla-test", version: "1", instance: "here/1" };
  const log = createLog("debug", (line) => lines.push(line));
  const settings = { url: `${collector.url}/v1/traces`, headers, service: null };
  tracer = createTracer(settings, { resource, clock, log, random: () => 1 });
};

/** What the log says in these words. */
const told = (message: string): { dropped: number; reason: string; url: string }[] =>
  lines.map((line) => JSON.parse(line)).filter(({ message: said }) => said === message);

test("a traceparent is read as W3C writes it, and anything else is none (rules/spans#traceparent)", () => {
  const context = { trace_id: TRACE, span_id: SPAN, sampled: true };
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual(context);
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)?.sampled).toBe(false);
  expect(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes`)).toEqual(context);
  expect(formatTraceparent(context)).toBe(`00-${TRACE}-${SPAN}-01`);
  for (const bad of [
    undefined,
    "",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `cc-${TRACE}-${SPAN}-01-${"x".repeat(300)}`,
  ])
    expect(parseTraceparent(bad)).toBeNull();
});

test("what happens within a span has its trace; without one a trace begins (rules/spans#traceparent)", () => {
  const child = childOf({ trace_id: TRACE, span_id: SPAN, sampled: false });
  expect(child).toMatchObject({ trace_id: TRACE, sampled: false });
  expect(child.span_id).not.toBe(SPAN);
  expect(childOf(null).trace_id).toMatch(/^[0-9a-f]{32}$/);
  expect(childOf(null).sampled).toBe(true);
});

test("spans are sent together, with the service, their times and what went wrong (rules/spans#on-and-off)", async () => {
  start({ "x-key": "secret" });
  const parent = { trace_id: TRACE, span_id: SPAN, sampled: true };
  const attributes = { text: "a", whole: 3, part: 0.5, yes: true };
  const span = tracer.start("work", { kind: "server", parent, attributes });
  const inner = tracer.start("inner", { parent: span.context });
  await clock.advance(250);
  inner.end("it broke");
  inner.end(null);
  span.end();
  await clock.advance(2_000);
  const [first, second] = [await collector.spans.next(), await collector.spans.next()];
  expect(first).toMatchObject({ name: "inner", parentSpanId: second.spanId, failure: "it broke" });
  expect(second).toMatchObject({
    service: "flotilla-test",
    traceId: TRACE,
    parentSpanId: SPAN,
    name: "work",
    kind: 2,
    attributes,
    failure: null,
  });
  expect(BigInt(second.endTimeUnixNano) - BigInt(second.startTimeUnixNano)).toBe(250_000_000n);
  expect(collector.requests).toHaveLength(1);
  expect(collector.requests[0]?.path).toBe("/v1/traces");
  expect(collector.requests[0]?.headers.get("x-key")).toBe("secret");
});

test("a trace that its caller does not want recorded is not sent (rules/spans#traceparent)", async () => {
  start();
  const parent = { trace_id: TRACE, span_id: SPAN, sampled: false };
  const span = tracer.start("quiet", { parent });
  expect(span.context.sampled).toBe(false);
  span.end();
  tracer.start("loud", { parent: null }).end();
  await clock.advance(2_000);
  expect((await collector.spans.next()).name).toBe("loud");
  expect(collector.spans.all).toHaveLength(1);
});

test("a collector that would take spans later gets them again, one that refuses them does not (rules/spans#collectors-that-are-away)", async () => {
  start();
  collector.answer = 503;
  tracer.start("kept", { parent: null }).end();
  await clock.advance(2_000);
  await clock.sleeperIn(2_000);
  expect(told("the collector takes no spans; they are sent again")).toMatchObject([
    { dropped: 0, reason: "HTTP 503" },
  ]);
  collector.answer = 200;
  await clock.advance(2_000);
  expect((await collector.spans.next()).name).toBe("kept");
  collector.answer = 400;
  tracer.start("refused", { parent: null }).end();
  await clock.advance(2_000);
  await collector.answered.next((status) => status === 400);
  collector.answer = 200;
  tracer.start("next", { parent: null }).end();
  await tracer.stop();
  expect(collector.spans.all.map(({ name }) => name)).toEqual(["kept", "next"]);
});

test("a collector that is away costs a bounded amount of memory (rules/spans#collectors-that-are-away)", async () => {
  start();
  for (let i = 0; i < 10_000; i += 1) tracer.start(`s${i}`, { parent: null }).end();
  await tracer.stop();
  expect(collector.spans.all.length).toBe(4_096);
  expect(collector.requests.every(({ spans }) => spans <= 512)).toBe(true);
  expect(lines.some((line) => line.includes("does not keep up"))).toBe(true);
});

test("spans for which a full queue has no room again are counted as lost (rules/spans#collectors-that-are-away)", async () => {
  start();
  collector.answer = 503;
  for (let i = 0; i < 4_096; i += 1) tracer.start(`s${i}`, { parent: null }).end();
  await collector.answered.next();
  for (let i = 0; i < 512; i += 1) tracer.start(`later${i}`, { parent: null }).end();
  await clock.sleeperIn(2_000);
  expect(told("spans were lost")).toMatchObject([{ dropped: 512, reason: "HTTP 503" }]);
  collector.answer = 200;
  await tracer.stop();
  expect(collector.spans.all).toHaveLength(4_096);
});

test("a collector says when it is to be asked again (rules/spans#collectors-that-are-away)", async () => {
  start();
  collector.answer = 429;
  const asks = (header: string) => {
    collector.headers = { "retry-after": header };
  };
  asks("7");
  tracer.start("kept", { parent: null }).end();
  await clock.advance(2_000);
  await clock.sleeperIn(7_000);
  asks(new Date(clock.now() + 7_000 + 40_000).toUTCString());
  await clock.advance(7_000);
  await clock.sleeperIn(40_000);
  asks("100000");
  await clock.advance(40_000);
  await clock.sleeperIn(300_000);
  collector.answer = 200;
  await tracer.stop();
  expect(collector.spans.all.map(({ name }) => name)).toEqual(["kept"]);
});

test("spans that a collector rejects within an answer of 200 are counted, and not sent again (rules/spans#collectors-that-are-away)", async () => {
  start();
  collector.says = { partialSuccess: { rejectedSpans: "2", errorMessage: "too old" } };
  for (const name of ["a", "b", "c"]) tracer.start(name, { parent: null }).end();
  await tracer.stop();
  expect(told("spans were lost")).toMatchObject([
    { dropped: 2, reason: "the collector rejected them: too old" },
  ]);
  expect(collector.requests).toHaveLength(1);
});

test("a process that stops waits for no collector that is away, and 3 s for one that is silent (rules/spans#collectors-that-are-away)", async () => {
  start();
  collector.answer = 503;
  tracer.start("lost", { parent: null }).end();
  await clock.advance(2_000);
  await clock.sleeperIn(2_000);
  await tracer.stop();
  expect(told("spans were lost in total")).toMatchObject([{ dropped: 1, reason: "HTTP 503" }]);
  await collector.stop();

  start();
  collector.silent = true;
  tracer.start("unheard", { parent: null }).end();
  const stopped = tracer.stop();
  await collector.answered.next();
  await clock.advance(3_000);
  await stopped;
  expect(told("spans were lost")).toMatchObject([{ dropped: 1 }]);
});

test("a collector that is silent for 10 s gets the spans again (rules/spans#collectors-that-are-away)", async () => {
  start();
  collector.silent = true;
  tracer.start("unheard", { parent: null }).end();
  await clock.advance(2_000);
  await collector.answered.next();
  await clock.advance(10_000);
  await clock.sleeperIn(2_000);
  expect(told("the collector takes no spans; they are sent again")).toMatchObject([
    { dropped: 0, reason: "the collector timed out after 10000 ms" },
  ]);
  collector.silent = false;
  await clock.advance(2_000);
  expect((await collector.spans.next()).name).toBe("unheard");
});

test("the standard variables say where spans go; without the endpoint nothing is traced (rules/spans#on-and-off)", () => {
  const of = (values: { [K in keyof typeof OtelEnv]?: string }) => tracingOf(values);
  expect(of({ OTEL_SERVICE_NAME: "mine" })).toBeNull();
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector:4318/";
  const headers = "authorization=Bearer%20x, x-a=b=c";
  expect(
    of({
      OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: headers,
      OTEL_SERVICE_NAME: "mine",
    }),
  ).toEqual({
    url: "http://collector:4318/v1/traces",
    headers: { authorization: "Bearer x", "x-a": "b=c" },
    service: "mine",
  });
  const login = of({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://me:p%40ss@collector/otlp" });
  expect(login).toMatchObject({
    url: "https://collector/otlp/v1/traces",
    headers: { authorization: `Basic ${btoa("me:p@ss")}` },
  });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT };
  expect(loadWorkerConfig(env, {}).tracing?.url).toBe("http://collector:4318/v1/traces");
  expect(loadConfig("hub", { env, flags: {} }).config.tracing?.url).toBe(
    "http://collector:4318/v1/traces",
  );
  expect(loadWorkerConfig({}, {}).tracing).toBeNull();
  expect(() => loadWorkerConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: "collector" }, {})).toThrow(
    /^OTEL_EXPORTER_OTLP_ENDPOINT: must be an http/,
  );
  for (const OTEL_EXPORTER_OTLP_HEADERS of ["nothing", "a b=c", "a=b%0Ac"])
    expect(() => loadWorkerConfig({ OTEL_EXPORTER_OTLP_HEADERS }, {})).toThrow(
      /^OTEL_EXPORTER_OTLP_HEADERS: must be name=value/,
    );
});

test("logins for the collector are shown nowhere, and may come from files (rules/operations#configuration)", () => {
  const url = "https://me:pass@collector/";
  expect(shownValue("OTEL_EXPORTER_OTLP_ENDPOINT", url)).toBe("https://***@collector/");
  expect(shownValue("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")).toBe("***");
  expect(SECRETS).toContain("OTEL_EXPORTER_OTLP_HEADERS");
});

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { newSessionId } from "#shared/protocol/ids.ts";
import { addLiveSession } from "#test/support/fakes/live-session.ts";
import { type ClusterHub, startCluster } from "#test/support/rigs/cluster.ts";
import { startTestHub, TARGET } from "#test/support/rigs/hub.ts";
import { type Collector, startCollector } from "#test/support/servers/collector.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";

/** What hubs tell a collector of the calls that they answer (rules/spans). */

setDefaultTimeout(120_000);

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});
function collect(): { collector: Collector; env: Record<string, string> } {
  const collector = startCollector();
  ended.push(() => collector.stop());
  return { collector, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } };
}
const named = (collector: Collector, name: string) =>
  collector.spans.next((span) => span.name === name);

test("the worker of a job is told its span, which holds no address and no more than its host (rules/spans#what-spans-hold)", async () => {
  const { collector, env } = collect();
  const hub = await startTestHub({ alone: true, env });
  ended.push(() => hub.close());
  const worker = await hub.worker();
  const url = `${TARGET}?token=hunter2`;
  const { job_id } = (await hub.call("POST", "/jobs", { url }, { headers })).body;
  const given = await worker.assigned.next();
  worker.finish(given, { status: "failed", error: "no hunter2 here" });
  await hub.signals.next("job finished", { job_id });

  const call = await named(collector, "POST /jobs");
  expect(call).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2 });
  const job = await named(collector, "job");
  expect(job).toMatchObject({
    traceId: TRACE,
    parentSpanId: call.spanId,
    failure: "the job failed",
    attributes: { "flotilla.job.id": job_id, "server.address": new URL(TARGET).hostname },
  });
  expect(given.traceparent).toBe(`00-${TRACE}-${job.spanId}-01`);
  expect((await named(collector, "job queued")).parentSpanId).toBe(job.spanId);
  expect(JSON.stringify(collector.spans.all)).not.toContain("hunter2");
});

test("a call that is not let in makes no span (rules/spans#calls)", async () => {
  const { collector, env } = collect();
  const hub = await startTestHub({ alone: true, env: { ...env, SVC_API_TOKEN: "t0ken" } });
  ended.push(() => hub.close());
  expect((await hub.call("GET", "/jobs", undefined, { headers })).status).toBe(401);
  const authorization = "Bearer t0ken";
  expect(
    (await hub.call("GET", "/workers", undefined, { headers: { authorization } })).status,
  ).toBe(200);
  await named(collector, "GET /workers");
  expect(collector.spans.all).toHaveLength(1);
});

test("a call that is passed on is within the span of the hub that was asked (rules/spans#calls)", async () => {
  const { collector, env } = collect();
  const postgres = await startPostgres();
  ended.push(() => postgres.stop());
  const cluster = await startCluster({ db_url: await postgres.createDatabase(), env });
  ended.push(() => cluster.close());
  const [asked, owner] = cluster.hubs as [ClusterHub, ClusterHub];
  const worker = await owner.worker({ secret: "cluster-secret", address: "127.0.0.1" });
  const link = owner.ctx.links.get(worker.worker_id);
  if (!link) throw new Error("not registered");
  const { session_id } = await addLiveSession(owner.ctx, { link, session_id: newSessionId() });
  const path = `/sessions/${session_id}`;
  expect((await asked.call("GET", path, undefined, { headers })).status).toBe(200);
  const here = await collector.spans.next(({ parentSpanId }) => parentSpanId === PARENT);
  const there = await collector.spans.next(({ parentSpanId }) => parentSpanId === here.spanId);
  expect([there.name, there.traceId]).toEqual([here.name, TRACE]);
});

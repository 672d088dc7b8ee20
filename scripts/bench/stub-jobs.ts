import { withDeadline } from "#shared/kit/clock.ts";
import { decoderOf } from "#shared/protocol/link/codec.ts";
import { HubToWorker, type WorkerToHub } from "#shared/protocol/link/messages.ts";
import type { Lane } from "#shared/protocol/schema/worker.ts";

/** Workers without browsers, over the real link, for figures of the hub alone. */

const LINK_MS = 20_000;

export interface StubWorker {
  worker_id: string;
  /** Called when an assignment arrives, after it was accepted. */
  onAssigned: (job_id: string, at: number) => void;
  /** Called right before a lane is reported warm again. */
  onLaneFreed: (at: number) => void;
  /** Called when the link ends. */
  onClosed: () => void;
  heartbeat(): void;
  /** A heartbeat and the hub's answer to it. */
  acknowledged(ms: number): Promise<void>;
  /** Holds finished runs back until called, when `manual` was asked for. */
  finish(job_id: string): void;
  close(): Promise<void>;
}

/** Jobs under way, by id. */
type Running = Map<string, { lane_idx: number; lease_token: number; session_id: string }>;

const LOAD = { cpu_percent: 1, mem_percent: 1, disk_pct: 1 };

const lane = (lane_idx: number, job_id: string | null, session_id: string | null): Lane => ({
  lane_idx,
  state: job_id ? "running" : "warm",
  session_id,
  job_id,
  mode: "headful",
  sandbox: "off",
  reason: null,
});

const registrationOf = (worker_id: string, lanes: number): WorkerToHub => ({
  type: "registration",
  worker_id,
  instance_id: crypto.randomUUID(),
  version: "bench",
  address: "127.0.0.1",
  hostname: `bench-${worker_id}`,
  capabilities: {
    max_concurrent: lanes,
    lane_novnc_urls: Array.from({ length: lanes }, (_, i) => `http://localhost:${6080 + i}/`),
    novnc_url: null,
    browser: "stub",
    capture: "durable",
  },
  lanes: Array.from({ length: lanes }, (_, i) => lane(i, null, null)),
  load: LOAD,
  profiles: [],
});

const heartbeatOf = (lanes: number, running: Running): WorkerToHub => ({
  type: "WorkerHeartbeat",
  in_flight: running.size,
  load: LOAD,
  lanes: Array.from({ length: lanes }, (_, i) => {
    const [job_id, run] = [...running].find(([, r]) => r.lane_idx === i) ?? [];
    return lane(i, job_id ?? null, run?.session_id ?? null);
  }),
  profiles: [],
});

const resultOf = (job_id: string, lease_token: number): WorkerToHub => ({
  type: "result",
  job_id,
  lease_token,
  status: "completed",
  error: null,
  stage: "done",
  http_status: 200,
  final_url: null,
  title: null,
  capture: null,
});

export async function connectStubWorker(
  hubUrl: string,
  worker_id: string,
  lanes: number,
  manual = false,
): Promise<StubWorker> {
  const socket = new WebSocket(`${hubUrl.replace(/^http/, "ws")}/workers/${worker_id}/link`);
  const decode = decoderOf<HubToWorker>(HubToWorker);
  const send = (message: WorkerToHub) => socket.send(JSON.stringify(message));
  const running: Running = new Map();
  const registered = Promise.withResolvers<void>();
  let onAck = () => {};
  const worker: StubWorker = {
    worker_id,
    onAssigned: () => {},
    onLaneFreed: () => {},
    onClosed: () => {},
    heartbeat: () => send(heartbeatOf(lanes, running)),
    acknowledged: (ms) => {
      const acknowledged = Promise.withResolvers<void>();
      onAck = acknowledged.resolve;
      worker.heartbeat();
      return withDeadline("the answer to a heartbeat", ms, acknowledged.promise);
    },
    finish: (job_id) => {
      const run = running.get(job_id);
      if (!run) return;
      running.delete(job_id);
      send(resultOf(job_id, run.lease_token));
      worker.onLaneFreed(performance.now());
      send({ type: "LaneChanged", lane: lane(run.lane_idx, null, null) });
    },
    close: async () => {
      const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
      socket.close();
      await withDeadline("the end of the link", LINK_MS, closed);
    },
  };
  socket.addEventListener("open", () => send(registrationOf(worker_id, lanes)));
  socket.addEventListener("close", () => {
    registered.reject(new Error("link closed"));
    worker.onClosed();
  });
  socket.addEventListener("message", (event) => {
    const decoded = decode(String(event.data));
    if (decoded.kind !== "message") return;
    const message = decoded.message;
    if (message.type === "HubRegistered") registered.resolve();
    if (message.type === "HubHeartbeatAck") onAck();
    if (message.type !== "HubAssignJob") return;
    const { job_id, lease_token, lane_idx, session_id } = message;
    const at = performance.now();
    running.set(job_id, { lane_idx, lease_token, session_id });
    send({ type: "JobAccepted", job_id, lease_token });
    worker.onAssigned(job_id, at);
    if (!manual) worker.finish(job_id);
  });
  await withDeadline("the hub's answer to the registration", LINK_MS, registered.promise);
  return worker;
}

export const submitStub = (hubUrl: string): Promise<Response> =>
  fetch(`${hubUrl}/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"url":"http://stub.test/"}',
  });

/** Runs `jobs` jobs through stub workers, `clients` requests at a time; jobs per second. */
export async function stubJobs(
  hubUrl: string,
  options: { jobs: number; workers: number; lanes: number; clients?: number },
): Promise<number> {
  const workers = await Promise.all(
    Array.from({ length: options.workers }, (_, i) =>
      connectStubWorker(hubUrl, `bench${i}`, options.lanes),
    ),
  );
  let left = options.jobs;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await submitStub(hubUrl);
      if (!answer.ok) throw new Error(`POST /jobs: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: options.clients ?? 16 }, client));
  const seconds = (performance.now() - start) / 1_000;
  await Promise.all(workers.map((w) => w.close()));
  return options.jobs / seconds;
}

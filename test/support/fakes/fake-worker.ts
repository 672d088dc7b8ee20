import type { EgressReport } from "#shared/protocol/egress-cover.ts";
import { decoderOf } from "#shared/protocol/link/codec.ts";
import {
  type HubAssignJob,
  type HubCloseSession,
  type HubOpenSession,
  type HubRegistered,
  type HubSessionCall,
  HubToWorker,
  type Registration,
  type SessionReply,
  type WorkerResult,
  type WorkerToHub,
} from "#shared/protocol/link/messages.ts";
import { isCounted } from "#shared/protocol/link/outbox.ts";
import type { AssetMeta } from "#shared/protocol/schema/asset.ts";
import type { Lane } from "#shared/protocol/schema/worker.ts";
import { assetMeta } from "../clients/asset-meta.ts";
import { createQueue, type Queue } from "../models/queue.ts";

const decode = decoderOf<HubToWorker>(HubToWorker);

export interface FakeWorkerOptions extends Partial<Omit<Registration, "type" | "lanes">> {
  /** How many lanes; max_concurrent is the same unless capabilities say otherwise. */
  lanes?: number;
  /** What it tells of its egress; by default nothing, as earlier versions do. */
  egress?: EgressReport;
  /** How assignments are answered: accepted by default, `never` leaves the hub waiting. */
  on_assign?: "accept" | "refuse" | "never" | "by_hand";
  /** How HubOpenSession is answered: opened by default; `lane` and `page` refuse it, `never` leaves the hub waiting. */
  on_open?: "open" | "lane" | "page" | "never";
  /** The reply to a session's call, null for none; by default the action and its arguments come back as the result. */
  on_call?: (call: HubSessionCall) => Partial<SessionReply> | null;
  headers?: Record<string, string>;
  /** PEM of the authority of a hub that speaks TLS. */
  ca?: string;
}

/** A worker without browsers, speaking the real link over a real WebSocket. */
export interface FakeWorker {
  worker_id: string;
  socket: WebSocket;
  /** The hub's answer to the registration; rejects when the socket closes before it. */
  registered: Promise<HubRegistered>;
  assigned: Queue<HubAssignJob>;
  /** HubOpenSession messages. */
  opening: Queue<HubOpenSession>;
  /** Sessions the hub has ended; their lanes reset at once. */
  closing: Queue<HubCloseSession>;
  calls: Queue<HubSessionCall>;
  messages: Queue<HubToWorker>;
  closed: Promise<{ code: number; reason: string }>;
  lanes: Lane[];
  /** Everything it has said. */
  sent: readonly Record<string, unknown>[];
  send(message: WorkerToHub | Record<string, unknown>): void;
  heartbeat(more?: Record<string, unknown>): void;
  lane(lane_idx: number, change: Partial<Lane>): void;
  /** JobAccepted, with the lane running after it. */
  accept(job: HubAssignJob): void;
  /** SessionOpened, with the lane running before it. */
  opened(session: HubOpenSession): void;
  reply(call: HubSessionCall, reply?: Partial<SessionReply>): void;
  /** resetting → warm. */
  reset(lane_idx: number): void;
  log(job: HubAssignJob, stage: string, message: string): void;
  result(job: HubAssignJob, more?: Partial<WorkerResult>): void;
  /** The page of a scripted job is open. */
  ready(job: HubAssignJob): void;
  /** result → resetting → warm, as a lane does. */
  finish(job: HubAssignJob, more?: Partial<WorkerResult>): void;
  putAsset(
    job: HubAssignJob,
    body: string | Uint8Array,
    meta?: Partial<AssetMeta>,
  ): Promise<Response>;
  putDocument(job: HubAssignJob, name: string, body: string | Uint8Array): Promise<Response>;
  /** A round trip: everything sent before was handled. `more`: as of the heartbeat that asks. */
  settle(more?: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

const warm = (lane_idx: number): Lane => ({
  lane_idx,
  state: "warm",
  session_id: null,
  job_id: null,
  mode: "headful",
  sandbox: "off",
  reason: null,
});

export const sha256 = (body: string | Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(body).digest("hex");

/** What the process says that comes back: the link it had, and how many of its messages came. */
export async function resumeOf({ registered, messages }: FakeWorker) {
  const { upload_token } = await registered;
  return { upload_token, received: messages.all.filter(({ type }) => isCounted(type)).length };
}

export function connectFakeWorker(
  hub_url: string,
  {
    lanes: count = 1,
    on_assign = "accept",
    on_open = "open",
    on_call = ({ action, args }) => ({ result: { action, args } }),
    headers = {},
    ca,
    egress,
    ...hello
  }: FakeWorkerOptions = {},
): FakeWorker {
  const worker_id = hello.worker_id ?? "w11";
  const lanes = Array.from({ length: count }, (_, i) => warm(i));
  const load = { cpu_percent: 1, mem_percent: 2, disk_pct: 3 };
  const messages = createQueue<HubToWorker>();
  const assigned = createQueue<HubAssignJob>();
  const socket = new WebSocket(
    `${hub_url.replace(/^http/, "ws")}/workers/${worker_id}/link${hello.resume ? "?resume=1" : ""}`,
    { headers, ...(ca !== undefined && { tls: { ca } }) } as Bun.WebSocketOptions,
  );
  const sent: Record<string, unknown>[] = [];
  /** Heartbeats that were sent, and those that the hub has answered. */
  const beats = { sent: 0, answered: 0 };
  const answered = new Set<() => void>();
  const send = (message: Record<string, unknown>) => {
    sent.push(message);
    socket.send(JSON.stringify(message));
  };
  const assignment = ({ job_id, lease_token }: HubAssignJob) => ({ job_id, lease_token });

  const answer = (job: HubAssignJob) => {
    if (on_assign === "never" || on_assign === "by_hand") return;
    if (on_assign === "refuse")
      return send({ type: "JobRefused", ...assignment(job), reason: "lane is not warm" });
    worker.accept(job);
  };
  const open = (session: HubOpenSession) => {
    if (on_open === "never") return;
    const { session_id, lease_token, lane_idx } = session;
    if (on_open === "open") return worker.opened(session);
    send({ type: "SessionRefused", session_id, lease_token, kind: on_open, reason: "cannot" });
    if (on_open === "page") worker.reset(lane_idx);
  };
  const sessionMessage = (message: HubToWorker) => {
    if (message.type === "HubOpenSession") {
      open(message);
      worker.opening.push(message);
    }
    if (message.type === "HubCloseSession") {
      const lane = lanes.find((l) => l.session_id === message.session_id);
      if (lane) worker.reset(lane.lane_idx);
      worker.closing.push(message);
    }
    if (message.type === "HubSessionCall") {
      const reply = on_call(message);
      if (reply) worker.reply(message, reply);
      worker.calls.push(message);
    }
  };
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  socket.onerror = () => {};
  socket.onopen = () =>
    send({
      type: "registration",
      worker_id,
      instance_id: "instance-1",
      version: "dev",
      address: "192.168.1.1",
      hostname: "host-1",
      load,
      ...hello,
      capabilities: {
        max_concurrent: count,
        lane_novnc_urls: lanes.map((_, i) => `http://localhost:${6080 + i}/`),
        ...(egress && { egress }),
        ...hello.capabilities,
      },
      lanes,
    });
  socket.onmessage = ({ data }) => {
    const decoded = decode(String(data));
    if (decoded.kind !== "message") throw new Error(`bad frame from the hub: ${data}`);
    // One that tells places answers no heartbeat: the hub sends it when another hub has come or gone.
    if (decoded.message.type === "HubHeartbeatAck" && !decoded.message.fleet_places) {
      beats.answered += 1;
      for (const look of answered) look();
    }
    messages.push(decoded.message);
    sessionMessage(decoded.message);
    if (decoded.message.type !== "HubAssignJob") return;
    // Answered before it is shown, so that what a test sends next comes after the acceptance.
    answer(decoded.message);
    assigned.push(decoded.message);
  };
  const registered = Promise.race([
    messages.next((m) => m.type === "HubRegistered") as Promise<HubRegistered>,
    closed.then(({ code, reason }) => Promise.reject(new Error(`closed ${code} ${reason}`))),
  ]);
  registered.catch(() => {});

  const put = async (path: string, body: string | Uint8Array, headers: Record<string, string>) => {
    const { upload_token } = await registered;
    return fetch(`${hub_url}/workers/${worker_id}/jobs/${path}`, {
      method: "PUT",
      ...(ca !== undefined && { tls: { ca } }),
      body,
      headers: { Authorization: `Bearer ${upload_token}`, "X-Sha256": sha256(body), ...headers },
    });
  };
  const worker: FakeWorker = {
    worker_id,
    socket,
    registered,
    assigned,
    opening: createQueue(),
    closing: createQueue(),
    calls: createQueue(),
    messages,
    closed,
    lanes,
    sent,
    send,
    heartbeat: (more = {}) => {
      beats.sent += 1;
      send({ type: "WorkerHeartbeat", in_flight: 0, load, lanes, ...more });
    },
    lane: (lane_idx, change) => {
      const lane = { ...(lanes[lane_idx] ?? warm(lane_idx)), ...change };
      lanes[lane_idx] = lane;
      send({ type: "LaneChanged", lane });
    },
    accept: (job) => {
      send({ type: "JobAccepted", ...assignment(job) });
      const { job_id, session_id } = job;
      worker.lane(job.lane_idx, { state: "running", job_id, session_id });
    },
    opened: ({ session_id, lease_token, lane_idx, url }) => {
      worker.lane(lane_idx, { state: "running", session_id });
      const page = url ?? "about:blank";
      send({ type: "SessionOpened", session_id, lease_token, url: page, title: "Title" });
    },
    reply: ({ call_id }, reply = {}) =>
      send({ type: "SessionReply", call_id, ok: true, result: null, ms: 1, ...reply }),
    reset: (lane_idx) => {
      worker.lane(lane_idx, { state: "resetting", job_id: null, session_id: null });
      worker.lane(lane_idx, { state: "warm" });
    },
    log: (job, stage, message) =>
      send({
        type: "JobLog",
        ...assignment(job),
        entries: [{ ts: Date.now(), level: "info", stage, message, fields: {} }],
      }),
    result: (job, more = {}) =>
      send({
        type: "result",
        ...assignment(job),
        status: "completed",
        error: null,
        stage: "done",
        http_status: 200,
        final_url: job.url,
        title: "Title",
        capture: null,
        ...more,
      }),
    ready: (job) => send({ type: "RunReady", ...assignment(job) }),
    finish: (job, more) => {
      worker.result(job, more);
      worker.reset(job.lane_idx);
    },
    putAsset: (job, body, meta = {}) => {
      const { name, ...rest } = assetMeta(meta.name ?? "a.png", meta);
      return put(`${job.job_id}/assets/${encodeURIComponent(name)}`, body, {
        "X-Lease-Token": String(job.lease_token),
        "X-Asset-Meta": Buffer.from(JSON.stringify(rest)).toString("base64url"),
      });
    },
    putDocument: (job, name, body) =>
      put(`${job.job_id}/documents/${encodeURIComponent(name)}`, body, {
        "X-Lease-Token": String(job.lease_token),
      }),
    settle: async (more) => {
      worker.heartbeat(more);
      const asked = beats.sent;
      // Its own answer, and not that of a heartbeat which nobody has waited for.
      await new Promise<void>((resolve) => {
        const look = () => {
          if (beats.answered < asked) return;
          answered.delete(look);
          resolve();
        };
        answered.add(look);
        look();
      });
    },
    close: async () => {
      socket.close();
      await closed;
    },
  };
  return worker;
}

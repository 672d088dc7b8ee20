import type { FleetContext } from "#hub/fleet/context.ts";
import type { WorkerLink } from "#hub/fleet/links/worker-link.ts";
import type { HubSession } from "#hub/fleet/sessions/hub-session.ts";
import { addSession } from "#hub/fleet/sessions/registry.ts";
import { newSessionId } from "#shared/protocol/ids.ts";
import { createQueue } from "../models/queue.ts";
import type { TestHub } from "../rigs/hub.ts";
import type { FakeWorkerOptions } from "./fake-worker.ts";

interface LiveSessionOptions {
  link: WorkerLink;
  session_id: string;
  lane_idx?: number;
  headless?: boolean;
}

/** Adds a session as if the worker of `link` had opened it for a program. */
export function addLiveSession(
  ctx: FleetContext,
  { link, session_id, lane_idx = 0, headless = false }: LiveSessionOptions,
): Promise<HubSession> {
  const { worker_id } = link;
  const lease = { worker_id, lane_idx, token: 1, job_id: null, session_id };
  const held = {
    lease,
    accepted: true,
    done: false,
    stage: null,
    unlogged: [],
    idle_beats: 0,
    answer: () => {},
    settled: Promise.resolve(),
  };
  return addSession(ctx, {
    session_id,
    kind: "sdk",
    link,
    held,
    job_id: null,
    headless,
    egress: null,
    proxy: null,
    replay: null,
    idle_ttl_ms: 300_000,
  });
}

let next_worker = 0;

/** A session put straight into the maps of `hub`, whose bridge listens on `port`. */
export async function openSessionAt(
  hub: Pick<TestHub, "worker" | "ctx">,
  port: number,
  options: FakeWorkerOptions = {},
): Promise<HubSession> {
  next_worker += 1;
  const worker = await hub.worker({
    worker_id: `w${next_worker}`,
    instance_id: `instance-${next_worker}`,
    address: "127.0.0.1",
    capabilities: {
      max_concurrent: 1,
      lane_novnc_urls: [`http://localhost:${port}/`],
      novnc_url: null,
      browser: "Chrome/1",
      capture: "durable",
    },
    ...options,
  });
  const link = hub.ctx.links.get(worker.worker_id);
  if (!link) throw new Error("not registered");
  return addLiveSession(hub.ctx, { link, session_id: newSessionId() });
}

/** A WebSocket of the hub, with what comes over it and how it ends. */
export function openSocketAt(
  hub: Pick<TestHub, "url">,
  path: string,
  protocols: string[] = [],
  headers = {},
) {
  const socket = new WebSocket(`${hub.url.replace("http", "ws")}${path}`, {
    protocols,
    headers,
  } as never);
  socket.binaryType = "nodebuffer";
  const messages = createQueue<Buffer>();
  socket.onmessage = ({ data }) => messages.push(data as unknown as Buffer);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  const opened = new Promise<boolean>((resolve) => {
    socket.onopen = () => resolve(true);
    socket.onerror = () => resolve(false);
  });
  return { socket, messages, closed, opened };
}

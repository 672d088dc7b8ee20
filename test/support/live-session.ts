import { addSession } from "#hub/sessions/registry.ts";
import type { HubSession } from "#hub/sessions/types.ts";
import { newSessionId } from "#shared/ids.ts";
import type { FakeWorkerOptions } from "./fake-worker.ts";
import type { TestHub } from "./hub.ts";
import { createQueue } from "./queue.ts";

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
  const session_id = newSessionId();
  const lease = { worker_id: worker.worker_id, lane_idx: 0, token: 1, job_id: null, session_id };
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
  return addSession(hub.ctx, {
    session_id,
    kind: "sdk",
    link,
    held,
    job_id: null,
    headless: false,
    idle_ttl_ms: 300_000,
  });
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

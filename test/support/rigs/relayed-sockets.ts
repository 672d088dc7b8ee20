import type { HubSession } from "#hub/fleet/sessions/hub-session.ts";
import { createQueue } from "#test/support/models/queue.ts";
import type { ClusterHub } from "#test/support/rigs/cluster.ts";

/** A client of a stream at `hub`, and what it has heard. */
export function openSocket(hub: ClusterHub, path: string, headers = {}, protocols = ["binary"]) {
  const socket = new WebSocket(hub.url.replace("http", "ws") + path, {
    protocols,
    headers,
  } as never);
  socket.binaryType = "nodebuffer";
  const messages = createQueue<Buffer | string>();
  socket.onmessage = ({ data }) => messages.push(data as never);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  const opened = new Promise<boolean>((resolve) => {
    socket.onopen = () => resolve(true);
    socket.onerror = () => resolve(false);
  });
  return { socket, messages, closed, opened };
}

/** At least the first `length` bytes. */
export const bytesOf = async (
  queue: { all: Buffer[]; next(): Promise<Buffer> },
  length: number,
) => {
  while (Buffer.concat(queue.all).length < length) await queue.next();
  return Buffer.concat(queue.all);
};

/** A viewer that can stop reading. */
export async function rawViewer(hub: ClusterHub, session: HubSession) {
  const { connect } = await import("node:net");
  const { hostname, port, host } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /sessions/${session.session_id}/novnc/websockify HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\n` +
      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
  );
  await new Promise<void>((resolve) => socket.once("data", () => resolve()));
  return socket;
}

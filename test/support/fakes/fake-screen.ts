import http from "node:http";
import type { Duplex } from "node:stream";
import { createQueue, type Queue } from "../models/queue.ts";
import { freePort } from "../servers/ports.ts";

/** A worker's bridge whose streams (screen, browser) the test writes and reads itself. */
export interface FakeScreen {
  port: number;
  /** The streams that a hub has opened. */
  streams: Queue<{ path: string; socket: Duplex; received: Queue<Buffer> }>;
  /** Of their requests. */
  headers: http.IncomingHttpHeaders[];
  stop(): void;
}

export async function startFakeScreen(): Promise<FakeScreen> {
  const streams: FakeScreen["streams"] = createQueue();
  const open = new Set<Duplex>();
  const headers: http.IncomingHttpHeaders[] = [];
  const server = http.createServer((_request, response) => response.end("{}"));
  server.on("upgrade", (request, socket) => {
    headers.push(request.headers);
    open.add(socket);
    const received = createQueue<Buffer>();
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    streams.push({ path: request.url ?? "", socket, received });
  });
  const port = freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", () => resolve()));
  return {
    port,
    streams,
    headers,
    stop: () => {
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

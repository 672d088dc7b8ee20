import { connect, type Socket } from "node:net";

/** The shortest way from a WebSocket to a TCP port, as a yardstick: `bun straight-bridge.ts <listen> <target>`. */
const [listen = 0, target = 0] = process.argv.slice(2).map(Number);

Bun.serve<{ tcp?: Socket }, never>({
  hostname: "127.0.0.1",
  port: listen,
  fetch: (request, server) =>
    server.upgrade(request, {
      data: {},
      headers: { "Sec-WebSocket-Protocol": "binary" },
    })
      ? undefined
      : new Response("up"),
  websocket: {
    open: (socket) => {
      const tcp = connect({ host: "127.0.0.1", port: target, noDelay: true });
      socket.data.tcp = tcp;
      tcp.on("data", (chunk: Buffer) => {
        if (socket.sendBinary(chunk) < 0) tcp.pause();
      });
      tcp.on("error", () => socket.close());
      tcp.on("close", () => socket.close());
    },
    message: (socket, frame) => void socket.data.tcp?.write(frame),
    drain: (socket) => void socket.data.tcp?.resume(),
    close: (socket) => void socket.data.tcp?.destroy(),
  },
});

import { afterEach, describe, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { dialScreen } from "#hub/viewer/dial.ts";
import { hostId } from "#shared/host-id.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map((s) => new Promise((done) => s.close(done))));
});

/** A TCP server on a free port of loopback. */
async function serve(talk: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    talk(socket);
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as { port: number }).port;
}

/** A bridge that sends a hub of this host to `port`, and everybody else its own screen. */
function serveBridge(port: number, heads: string[]): Promise<number> {
  return serve((socket) =>
    socket.once("data", (bytes) => {
      const head = bytes.toString("latin1");
      heads.push(head);
      const local = head.includes(`flotilla-host: ${hostId()}`);
      if (local) socket.end(`HTTP/1.1 303 See Other\r\nLocation: rfb://127.0.0.1:${port}\r\n\r\n`);
      else socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: rfb\r\n\r\nRFB bridge");
    }),
  );
}

async function firstBytes(bridge_port: number): Promise<string> {
  const target = { base: `http://127.0.0.1:${bridge_port}`, token: "secret-token" };
  const stream = await dialScreen(target, "/sessions/s/websockify");
  try {
    return await new Promise<string>((resolve, reject) =>
      stream.start({
        data: (chunk) => resolve(Buffer.from(chunk).toString()),
        close: () => reject(new Error("closed")),
      }),
    );
  } finally {
    stream.close();
  }
}

describe("the way to a lane's screen (fleet spec §4.2)", () => {
  test("a hub on the lane's host goes straight to its VNC server, with its greeting whole", async () => {
    const heads: string[] = [];
    const vnc = await serve((socket) => {
      socket.write("RF");
      setImmediate(() => socket.write("B vnc\n"));
    });
    expect(await firstBytes(await serveBridge(vnc, heads))).toStartWith("RFB ");
    expect(heads).toHaveLength(1);
    expect(heads[0]).toContain("Authorization: Bearer secret-token");
  });

  test("nobody there, or somebody else, and the bridge shows the screen itself", async () => {
    const other = await serve((socket) => socket.write("SSH-2.0-x\r\n"));
    const closing = await serve((socket) => socket.end());
    for (const port of [other, closing, 1]) {
      const heads: string[] = [];
      expect(await firstBytes(await serveBridge(port, heads))).toBe("RFB bridge");
      expect(heads.map((head) => head.includes("flotilla-host"))).toEqual([true, false]);
    }
  });
});

import { afterEach, describe, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { dialScreen } from "#hub/fleet/viewer/dial.ts";
import { hostId } from "#shared/kit/host-id.ts";
import { answerTo } from "#shared/protocol/vnc-auth.ts";

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

const CHALLENGE = Buffer.from("0123456789abcdef");

/** A VNC server that lets in who knows the secret, or anybody where there is none, and says then that it is there. */
function serveVnc(secret: string | null): Promise<number> {
  return serve((socket) => {
    const accepted = Buffer.alloc(4);
    /** What is awaited, and what it is answered; null ends it. */
    const steps: [bytes: number, answer: (said: Buffer) => Uint8Array | null][] = [
      [12, () => Buffer.from([1, secret === null ? 1 : 2])],
      ...(secret === null
        ? ([[1, () => accepted]] as typeof steps)
        : ([
            [1, () => CHALLENGE],
            [16, (said) => (said.equals(answerTo(CHALLENGE, secret)) ? accepted : null)],
          ] as typeof steps)),
      [1, () => Buffer.from("init")],
    ];
    let said: Buffer = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      said = Buffer.concat([said, bytes]);
      for (let step = steps[0]; step && said.length >= step[0]; step = steps[0]) {
        const answer = step[1](said.subarray(0, step[0]));
        said = said.subarray(step[0]);
        steps.shift();
        if (answer === null) return void socket.end();
        socket.write(answer);
      }
    });
    // Cut, as networks do.
    socket.write("RF");
    setImmediate(() => socket.write("B 003.008\n"));
  });
}

/** A bridge that sends a hub of this host to `port`, and everybody else its own screen. */
function serveBridge(port: number, heads: string[], secret: string | null = null): Promise<number> {
  const told = secret === null ? "" : `flotilla-vnc-secret: ${secret}\r\n`;
  return serve((socket) =>
    socket.once("data", (bytes) => {
      const head = bytes.toString("latin1");
      heads.push(head);
      const local = head.includes(`flotilla-host: ${hostId()}`);
      if (local)
        socket.end(`HTTP/1.1 303 See Other\r\n${told}Location: rfb://127.0.0.1:${port}\r\n\r\n`);
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

describe("the way to a lane's screen (rules/viewer#viewer-stream)", () => {
  test("a hub on the lane's host goes straight to its VNC server, and shows viewers one without a password", async () => {
    // A worker from before there were secrets tells none.
    for (const secret of ["s3cret-8", null]) {
      const heads: string[] = [];
      const bridge = await serveBridge(await serveVnc(secret), heads, secret);
      const stream = await dialScreen(
        { base: `http://127.0.0.1:${bridge}`, token: "secret-token" },
        "/s",
      );
      let said = "";
      const { promise, resolve } = Promise.withResolvers<void>();
      stream.start({
        data: (chunk) => {
          said += Buffer.from(chunk).toString("latin1");
          if (said.endsWith("init")) resolve();
        },
        close: resolve,
      });
      stream.write(Buffer.from("RFB 003"));
      stream.write(Buffer.from(".008\n"));
      stream.write(Buffer.from([1, 1]));
      await promise;
      stream.close();
      expect(said).toBe("RFB 003.008\n\x01\x01\0\0\0\0init");
      expect(heads).toHaveLength(1);
      expect(heads[0]).toContain("Authorization: Bearer secret-token");
      expect(heads[0]).toContain("flotilla-vnc-secret: taken");
    }
  });

  test("one that the VNC server does not let in is shown the screen by the bridge", async () => {
    const heads: string[] = [];
    const bridge = await serveBridge(await serveVnc("s3cret-8"), heads, "another");
    expect(await firstBytes(bridge)).toBe("RFB bridge");
    expect(heads).toHaveLength(2);
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

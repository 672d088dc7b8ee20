import { connect as dial, type Socket } from "node:net";

/** A client of the gate: what came, and how it ended. */
export interface SocksClient {
  socket: Socket;
  received(): Buffer;
  until(bytes: number): Promise<Buffer>;
  ended: Promise<"end" | "reset">;
}

export function client(port: number): SocksClient {
  const socket = dial(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  let size = 0;
  let onData = () => {};
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    onData();
  });
  const ended = new Promise<"end" | "reset">((done) => {
    socket.on("error", () => done("reset"));
    socket.on("close", () => done("end"));
  });
  return {
    socket,
    received: () => Buffer.concat(chunks),
    until: (bytes) =>
      new Promise((done) => {
        onData = () => {
          if (size < bytes) return;
          onData = () => {};
          done(Buffer.concat(chunks));
        };
        onData();
      }),
    ended,
  };
}

export const GREETING = Buffer.of(5, 1, 0);
export const request = (host: string, port: number) => {
  const name = Buffer.from(host, "latin1");
  return Buffer.concat([
    Buffer.of(5, 1, 0, 3, name.length),
    name,
    Buffer.of(port >> 8, port & 255),
  ]);
};
/** The greeting's answer, two bytes, and the reply's code. */
export async function ask(
  gate: { port: number },
  host: string,
  port: number,
): Promise<SocksClient & { code: number }> {
  const one = client(gate.port);
  one.socket.write(Buffer.concat([GREETING, request(host, port)]));
  const answer = await one.until(12);
  return { ...one, code: answer[3] ?? -1 };
}

import { connect } from "node:net";

/**
 * One request as bytes, for what a client library would not send; the whole answer. An answer of a known length is over
 * with its last byte, however long the connection stays: a router in between waits for the body that was announced.
 */
export const rawRequest = (url: string, request: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let answer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk]);
      if (isWhole(answer)) socket.destroy();
    });
    socket.on("close", () => resolve(answer.toString()));
    socket.on("error", reject);
    socket.write(request);
  });

function isWhole(answer: Buffer): boolean {
  const head_end = answer.indexOf("\r\n\r\n");
  const length = /^content-length: *(\d+)/im.exec(
    answer.subarray(0, Math.max(0, head_end)).toString(),
  );
  return length !== null && answer.length >= head_end + 4 + Number(length[1]);
}

/** Latin-1 bytes on a connection of their own; what was answered when it matches `enough` or the connection is over. */
export const rawUntil = (
  url: string,
  bytes: string,
  enough: Pick<RegExp, "test">,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let answer = "";
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (enough.test(answer)) socket.destroy();
    });
    socket.on("close", () => resolve(answer));
    // A server that refuses what it has not read whole resets the connection.
    socket.on("error", (err: NodeJS.ErrnoException) => {
      if (!["ECONNRESET", "EPIPE"].includes(err.code ?? "")) reject(err);
    });
    socket.write(Buffer.from(bytes, "latin1"));
  });

/** Asks for `url` on a connection of its own and leaves in the middle of the answer, once so many bytes of it have come. */
export async function leaveAfter(url: string, bytes: number): Promise<void> {
  const { host, pathname } = new URL(url);
  const request = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const answer = await rawUntil(url, request, { test: (so_far) => so_far.length >= bytes });
  if (answer.length < bytes) throw new Error(`the answer ended after ${answer.length} bytes`);
}

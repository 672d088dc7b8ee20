import { PassThrough } from "node:stream";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { pipeTransport } from "#worker/browser/cdp/transport.ts";

/** A command as the browser gets it. */
export interface SentCommand {
  id: number;
  method: string;
  params?: unknown;
  sessionId?: string;
}

/** A connection over a pipe whose other end is the test. `onSent` hears of every command. */
export function openCdpPipe(onSent: (command: SentCommand) => void) {
  const toBrowser = new PassThrough();
  const fromBrowser = new PassThrough();
  toBrowser.on("data", (chunk: Buffer) => {
    for (const text of chunk.toString().split("\0").filter(Boolean)) onSent(JSON.parse(text));
  });
  /** In one piece, as a pipe may bring them. */
  const say = (...messages: object[]) =>
    fromBrowser.write(messages.map((message) => `${JSON.stringify(message)}\0`).join(""));
  const connection = new CdpConnection(pipeTransport(toBrowser, fromBrowser));
  return { connection, toBrowser, fromBrowser, say };
}

import { readFile } from "node:fs/promises";
import type { Socket } from "bun";
import { tcpRows } from "#shared/kit/tcp-table.ts";

/** Above this, the other side is not read: further bytes wait in the kernel's buffers. */
const HIGH_WATER_BYTES = 1024 * 1024;

/** Bytes on their way to one socket: in order, complete, and with the sender paused while the socket accepts no more. */
export class Flow<Data> {
  private readonly socket: Socket<Data>;
  private backlog: Uint8Array[] = [];
  private held = 0;
  private carried = false;
  private ending: "end" | "reset" | null = null;

  constructor(socket: Socket<Data>) {
    this.socket = socket;
  }

  /** False when the sender must wait until `drain` reports that everything is written. */
  write(chunk: Uint8Array): boolean {
    if (this.ending) return true;
    this.carried = true;
    const sent = this.held > 0 ? 0 : this.socket.write(chunk);
    // It is closed: nobody is there to receive the bytes.
    if (sent < 0) return true;
    if (sent < chunk.length) {
      this.backlog.push(sent === 0 ? chunk : chunk.subarray(sent));
      this.held += chunk.length - sent;
    }
    return this.held < HIGH_WATER_BYTES;
  }

  /** The socket accepts bytes again. True when everything is written. */
  drain(): boolean {
    while (this.backlog.length > 0) {
      const chunk = this.backlog[0] as Uint8Array;
      const sent = this.socket.write(chunk);
      if (sent < 0) return true;
      this.held -= sent;
      if (sent < chunk.length) {
        this.backlog[0] = chunk.subarray(sent);
        return false;
      }
      this.backlog.shift();
    }
    if (this.ending) this.finish();
    return true;
  }

  /** Closes the socket after the pending bytes, in the same way as the other side was closed. */
  end(how: "end" | "reset"): void {
    if (this.ending) return;
    this.ending = how;
    if (this.held === 0) this.finish();
  }

  private finish(): void {
    if (this.ending === "end") this.socket.end();
    else if (!this.carried) this.socket.terminate();
    // A reset would discard what the kernel has not delivered yet.
    else void untilDelivered(this.socket).finally(() => this.socket.terminate());
  }
}

const LOOK_MS = 20;
const DELIVER_MS = 10_000;

/** Waits until the peer's kernel has everything that was written; only the kernel's table of connections shows that. */
async function untilDelivered<Data>({ localPort, remotePort }: Socket<Data>): Promise<void> {
  // A socket that has a path: what was written is delivered.
  if (!remotePort) return;
  const until = performance.now() + DELIVER_MS;
  while (performance.now() < until) {
    const table = await readFile("/proc/net/tcp", "latin1").catch(() => "");
    const row = tcpRows(table).find(
      ({ local_port, remote_port }) => local_port === localPort && remote_port === remotePort,
    );
    if (!row || row.unsent === 0) return;
    await Bun.sleep(LOOK_MS);
  }
}

import { Waiting } from "./connect.ts";
import { Flow } from "./flow.ts";
import type { End, GateSocket } from "./gate-socket.ts";
import type { Ask, Handshake } from "./handshake.ts";
import { EgressError, type Reached } from "./reach.ts";

export interface TunnelDeps {
  handshake: Handshake;
  reach(ask: Ask): Promise<Reached<GateSocket>>;
  /** Bytes that came from the server. */
  received(bytes: number): void;
  sent(bytes: number): void;
  onOver(): void;
}

const HANDSHAKE_MS = 10_000;
/** How much a client may send before it is told that it may. */
const MAX_EARLY_BYTES = 64 * 1024;
/** How long a server may take to accept what its client sent before leaving. */
const LINGER_MS = 30_000;
/** Chromium's own figure: detects a server that is gone. */
const KEEP_ALIVE_MS = 45_000;

/**
 * One client and the server it requested. Whatever closes one of them closes the other in the same way, after the
 * bytes that are still on their way to it.
 */
export class Tunnel implements End {
  private readonly client: GateSocket;
  private readonly deps: TunnelDeps;
  private readonly to_client: Flow<End>;
  private server: GateSocket | null = null;
  private to_server: Flow<End> | null = null;
  private asked = false;
  private over = false;
  private early: Buffer[] = [];
  private early_bytes = 0;
  private linger: ReturnType<typeof setTimeout> | undefined;
  private readonly late: ReturnType<typeof setTimeout>;

  constructor(client: GateSocket, deps: TunnelDeps) {
    this.client = client;
    this.deps = deps;
    this.to_client = new Flow(client);
    client.setNoDelay(true);
    this.late = setTimeout(() => this.cut(), HANDSHAKE_MS);
  }

  /** Ends both sides at once. */
  cut(): void {
    this.client.terminate();
    this.server?.terminate();
    this.end();
  }

  data(chunk: Buffer): void {
    if (this.to_server) {
      this.deps.sent(chunk.length);
      if (!this.to_server.write(chunk)) this.client.pause();
      return;
    }
    if (this.asked) {
      this.keepEarly(chunk);
      return;
    }
    const step = this.deps.handshake.take(chunk);
    for (const reply of step.reply) this.to_client.write(reply);
    if (step.kind === "bad") this.to_client.end("end");
    if (step.kind !== "ask") return;
    this.asked = true;
    clearTimeout(this.late);
    void this.connect(step.ask);
  }

  drain(): void {
    if (this.to_client.drain()) this.server?.resume();
  }

  closed(err: Error | undefined): void {
    const { server } = this;
    this.to_server?.end(err ? "reset" : "end");
    // A server that does not accept the rest is abandoned.
    if (server) this.linger = setTimeout(() => server.terminate(), LINGER_MS);
    this.end();
  }

  private keepEarly(chunk: Buffer): void {
    this.early.push(chunk);
    this.early_bytes += chunk.length;
    if (this.early_bytes > MAX_EARLY_BYTES) this.cut();
  }

  private async connect(ask: Ask): Promise<void> {
    let reached: Reached<GateSocket>;
    try {
      reached = await this.deps.reach(ask);
    } catch (err) {
      if (this.over) return;
      const told =
        err instanceof EgressError ? err : new EgressError("connection_failed", String(err));
      this.to_client.write(ask.failed(told));
      this.to_client.end("end");
      return;
    }
    const { socket } = reached;
    if (this.over) return void socket.terminate();
    this.open(socket, ask);
  }

  private open(server: GateSocket, ask: Ask): void {
    const to_server = new Flow<End>(server);
    this.server = server;
    this.to_server = to_server;
    server.setNoDelay(true);
    server.setKeepAlive(true, KEEP_ALIVE_MS);
    const before = server.data;
    server.data = {
      data: (chunk) => {
        if (this.over) return;
        this.deps.received(chunk.length);
        if (!this.to_client.write(chunk)) server.pause();
      },
      drain: () => {
        if (to_server.drain()) this.client.resume();
      },
      closed: (err) => {
        clearTimeout(this.linger);
        this.to_client.end(err ? "reset" : "end");
      },
    };
    if (ask.granted) this.to_client.write(ask.granted);
    for (const chunk of [...ask.first, ...this.early]) this.data(Buffer.from(chunk));
    this.early = [];
    if (!(before instanceof Waiting)) return;
    for (const chunk of before.early) server.data.data(chunk);
    if (before.gone) server.data.closed(before.gone.err);
  }

  private end(): void {
    clearTimeout(this.late);
    if (this.over) return;
    this.over = true;
    this.deps.onOver();
  }
}

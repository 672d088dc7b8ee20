import { setDeadline } from "#shared/kit/clock.ts";
import { Waiting } from "./connect.ts";
import { Flow } from "./flow.ts";
import type { End, GateSocket } from "./gate-socket.ts";
import type { Ask, Handshake } from "./handshake.ts";
import { type Carry, EgressError, NoTunnelError, type Reached } from "./reach.ts";

export interface TunnelDeps {
  handshake: Handshake;
  /** `hear`: lets the client in before there is a server, and resolves with the first byte that it says. */
  reach(ask: Ask, hear: () => Promise<number>): Promise<Reached<GateSocket>>;
  /** The client was let in, and spoke what does not go through. */
  failed(ask: Ask, err: EgressError): void;
  /** Bytes that came from the server. */
  received(bytes: number): void;
  sent(bytes: number): void;
  onOver(): void;
}

const HANDSHAKE_MS = 10_000;
/** How much a client may send before the connection is confirmed. */
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
  private carry: ((chunk: Buffer) => Uint8Array[]) | null = null;
  private asked = false;
  private over = false;
  private granted = false;
  private heard: ((byte: number) => void) | null = null;
  private early: Buffer[] = [];
  private early_bytes = 0;
  private linger: ReturnType<typeof setTimeout> | undefined;
  /** Called once the client has asked for something, or is gone. */
  private readonly stopDeadline: () => void;

  constructor(client: GateSocket, deps: TunnelDeps) {
    this.client = client;
    this.deps = deps;
    this.to_client = new Flow(client);
    client.setNoDelay(true);
    if (deps.handshake.hello) this.to_client.write(deps.handshake.hello);
    this.stopDeadline = setDeadline(HANDSHAKE_MS, () => this.cut());
  }

  /** Ends both sides at once. */
  cut(): void {
    this.client.terminate();
    this.server?.terminate();
    this.end();
  }

  data(chunk: Buffer): void {
    if (this.to_server) {
      this.pass(chunk, this.to_server);
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
    this.stopDeadline();
    void this.connect(step.ask);
  }

  private pass(chunk: Buffer, to_server: Flow<End>): void {
    for (const bytes of this.carry?.(chunk) ?? [chunk]) {
      if (bytes.length === 0) continue;
      this.deps.sent(bytes.length);
      if (!to_server.write(bytes)) this.client.pause();
    }
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
    if (this.granted) {
      // It was let in, so it may send as much as it likes: the rest waits until there is a server.
      this.client.pause();
      this.heard?.(chunk[0] ?? 0);
      return;
    }
    this.early_bytes += chunk.length;
    if (this.early_bytes > MAX_EARLY_BYTES) this.cut();
  }

  private async connect(ask: Ask): Promise<void> {
    let reached: Reached<GateSocket>;
    try {
      reached = await this.deps.reach(ask, () => this.hear(ask));
    } catch (err) {
      if (this.over) return;
      const told =
        err instanceof EgressError ? err : new EgressError("connection_failed", String(err));
      if (!this.granted) this.to_client.write(ask.failed(told));
      this.to_client.end("end");
      return;
    }
    const { socket, carry } = reached;
    if (this.over) return void socket.terminate();
    if (carry) this.carry = (chunk) => this.carried(carry, ask, chunk);
    this.open(socket, ask);
  }

  private async hear(ask: Ask): Promise<number> {
    this.grant(ask);
    const [first = this.early[0]] = ask.first;
    if (first?.[0] !== undefined) return first[0];
    const { promise, resolve } = Promise.withResolvers<number>();
    this.heard = resolve;
    return promise;
  }

  private grant({ granted }: Ask): void {
    if (granted && !this.granted) this.to_client.write(granted);
    this.granted = true;
  }

  private carried(carry: Carry, ask: Ask, chunk: Buffer): Uint8Array[] {
    try {
      return carry.take(chunk);
    } catch (err) {
      if (err instanceof NoTunnelError) this.deps.failed(ask, err);
      this.cut();
      return [];
    }
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
    this.grant(ask);
    for (const chunk of [...ask.first, ...this.early]) this.data(Buffer.from(chunk));
    this.early = [];
    if (this.heard) this.client.resume();
    if (!(before instanceof Waiting)) return;
    for (const chunk of before.early) server.data.data(chunk);
    if (before.gone) server.data.closed(before.gone.err);
  }

  private end(): void {
    this.stopDeadline();
    if (this.over) return;
    this.over = true;
    this.deps.onOver();
  }
}

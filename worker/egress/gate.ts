import { errorMessage } from "#shared/errors.ts";
import { HANDLERS, openSocket } from "./connect.ts";
import { createContacts } from "./contacts.ts";
import type { Ask, Handshake } from "./handshake.ts";
import { bothJudges, type Judge, type Resolve } from "./judge.ts";
import { EgressError, reach } from "./reach.ts";
import { type End, type GateSocket, Tunnel } from "./tunnel.ts";

/** Told of a connection that was refused: `place` is `host:port`. */
export type OnRefused = (place: string, reason: string) => void;

export interface GateOptions {
  /** How its clients ask: `socks5` or `httpProxy`. */
  speaks: () => Handshake;
  judge: Judge;
  resolve: Resolve;
  /** Waited for before anything is judged. */
  settled?: () => Promise<void>;
  onRefused?: OnRefused;
  onClose?: () => void;
  /** Told of bytes as they come in. */
  onReceived?: (bytes: number) => void;
}

/** What a run may know of its browser's gate, and ask of it. */
export interface BrowserGate {
  /** The address that was really connected to for this URL, the last time; null when none was. */
  addressOf(url: string): string | null;
  /** Why the last connection for this URL was not made; null when it was. */
  failureOf(url: string): EgressError | null;
  /** What also has to allow a connection from now on, and who is told of refusals. Ends with the function it gives. */
  narrow(judge: Judge, onRefused: OnRefused): () => void;
}

/** A way out: a proxy on loopback that resolves, judges and connects for those who know its port. */
export interface Gate extends BrowserGate {
  readonly port: number;
  /** Bytes from and to servers since the last `reset`. */
  readonly bytes: { received: number; sent: number };
  /** Connections that stand now. */
  readonly open: number;
  /** Cuts what stands and forgets what was: for another browser. */
  reset(): void;
  close(): void;
}

/** Chromium opens 99 at most, and a few for WebSockets each. */
const MAX_TUNNELS = 1_024;

/** Opens a gate on a free port of 127.0.0.1. @throws when there is none. */
export function openGate(options: GateOptions): Gate {
  const { speaks, judge, resolve, settled, onRefused, onReceived } = options;
  const tunnels = new Set<Tunnel>();
  const contacts = createContacts();
  const bytes = { received: 0, sent: 0 };
  let narrowed: { judge: Judge; onRefused: OnRefused } | null = null;

  const reachFor = async ({ host, port }: Ask) => {
    const both = narrowed ? bothJudges(judge, narrowed.judge) : judge;
    try {
      await settled?.();
      const reached = await reach({ judge: both, resolve, open: openSocket }, host, port);
      contacts.made(host, port, reached.address);
      return reached;
    } catch (err) {
      const failure =
        err instanceof EgressError ? err : new EgressError("connection_failed", errorMessage(err));
      contacts.failed(host, port, failure);
      if (failure.failure === "refused_by_gate") {
        const place = `${host.includes(":") ? `[${host}]` : host}:${port}`;
        onRefused?.(place, failure.message);
        narrowed?.onRefused(place, failure.message);
      }
      throw failure;
    }
  };
  const accept = (client: GateSocket) => {
    if (tunnels.size >= MAX_TUNNELS) {
      client.data = { data: () => {}, drain: () => {}, closed: () => {} };
      return void client.terminate();
    }
    const tunnel: Tunnel = new Tunnel(client, {
      handshake: speaks(),
      reach: reachFor,
      received: (count) => {
        bytes.received += count;
        onReceived?.(count);
      },
      sent: (count) => {
        bytes.sent += count;
      },
      onOver: () => tunnels.delete(tunnel),
    });
    tunnels.add(tunnel);
    client.data = tunnel;
  };
  const listener = Bun.listen<End>({
    hostname: "127.0.0.1",
    port: 0,
    socket: { ...HANDLERS, open: accept },
  });
  const cutAll = () => {
    for (const tunnel of tunnels) tunnel.cut();
  };
  return {
    port: listener.port,
    bytes,
    get open() {
      return tunnels.size;
    },
    addressOf: (url) => contacts.of(url)?.address ?? null,
    failureOf: (url) => contacts.of(url)?.failure ?? null,
    narrow: (by, told) => {
      const own = { judge: by, onRefused: told };
      narrowed = own;
      return () => {
        if (narrowed === own) narrowed = null;
      };
    },
    reset: () => {
      cutAll();
      contacts.clear();
      Object.assign(bytes, { received: 0, sent: 0 });
    },
    close: () => {
      options.onClose?.();
      cutAll();
      listener.stop(true);
    },
  };
}

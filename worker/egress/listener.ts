import { errorMessage } from "#shared/kit/errors.ts";
import { HANDLERS, openSocket, openUnixSocket } from "./connect.ts";
import type { Contacts } from "./contacts.ts";
import type { End, GateSocket } from "./gate-socket.ts";
import type { Ask, Handshake } from "./handshake.ts";
import type { Resolve } from "./judge.ts";
import { type Carry, EgressError, type Reached, reach } from "./reach.ts";
import { reachThrough } from "./through.ts";
import { Tunnel } from "./tunnel.ts";
import { bypasses } from "./upstream.ts";
import type { OnRefused, StandIn, Way } from "./way.ts";

/** Bytes from and to servers, or the proxy in front of them. */
export interface Traffic {
  received: number;
  sent: number;
}

export interface ListenerOptions {
  /** The protocol of its clients: `socks5` or `httpProxy`. */
  speaks: () => Handshake;
  way: Way;
  resolve: Resolve;
  /** A promise to wait for before anything is judged. */
  settled?: (() => Promise<void>) | undefined;
  /** Called with the outcome of each connection before its client learns of it. */
  contacts: Pick<Contacts, "made" | "failed" | "at">;
  onReceived(bytes: number): void;
  onSent(bytes: number): void;
}

/** The listener of a gate and what goes through it. */
export interface GateListener {
  readonly port: number;
  /** Number of open connections. */
  readonly open: number;
  go(way: Way): void;
  /** Ends open connections. */
  cut(): void;
  close(): void;
}

/** Chromium opens 99 at most, and a few for WebSockets each. */
const MAX_TUNNELS = 1_024;

/** RFC 8446, section 5.1: what a client of TLS begins with. */
const TLS_HANDSHAKE = 22;

/** The port does not tell what is spoken there, and in both protocols the client speaks first. */
async function reachStandIn(
  { http, tls }: StandIn,
  hear: () => Promise<number>,
): Promise<Reached<GateSocket>> {
  const path = (await hear()) === TLS_HANDSHAKE ? tls : http;
  return { socket: await openUnixSocket(path), address: path };
}

/**
 * Carries the same, and tells once that something went through. Until then a connection has reached the proxy alone, and
 * must not hide why the one before it failed.
 */
function tellingOnce(carry: Carry, onCarried: () => void): Carry {
  let is_told = false;
  return {
    take: (chunk) => {
      const carried = carry.take(chunk);
      if (!is_told && carried.length > 0) {
        is_told = true;
        onCarried();
      }
      return carried;
    },
  };
}

/** Listens on a free port of 127.0.0.1. @throws when there is none. */
export function openListener(options: ListenerOptions): GateListener {
  const { speaks, resolve, settled, contacts, onReceived, onSent } = options;
  const tunnels = new Set<Tunnel>();
  let { way } = options;

  const connect = async (host: string, port: number): Promise<Reached<GateSocket>> => {
    const { judge, upstream } = way;
    if (upstream && !bypasses(upstream, host, port)) {
      const { socket, address, carry } = await reachThrough(
        upstream,
        { judge, resolve },
        host,
        port,
      );
      const made = () => contacts.made(host, port, null);
      if (carry) return { socket, address, carry: tellingOnce(carry, made) };
      made();
      return { socket, address };
    }
    const first = contacts.at(host, port);
    const reached = await reach({ judge, resolve, open: openSocket }, host, port, first);
    contacts.made(host, port, reached.address);
    return reached;
  };
  const reachFor = async ({ host, port }: Ask, hear: () => Promise<number>) => {
    if (way.stand_in) return reachStandIn(way.stand_in, hear);
    try {
      await settled?.();
      return await connect(host, port);
    } catch (err) {
      const failure =
        err instanceof EgressError ? err : new EgressError("connection_failed", errorMessage(err));
      contacts.failed(host, port, failure);
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
      failed: ({ host, port }, failure) => contacts.failed(host, port, failure),
      // Bytes to and from a stand-in are on no network.
      received: (bytes) => (way.stand_in ? undefined : onReceived(bytes)),
      sent: (bytes) => (way.stand_in ? undefined : onSent(bytes)),
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
  const cut = () => {
    for (const tunnel of tunnels) tunnel.cut();
  };
  return {
    port: listener.port,
    get open() {
      return tunnels.size;
    },
    go: (now) => {
      way = now;
    },
    cut,
    close: () => {
      cut();
      listener.stop(true);
    },
  };
}

/** Reports a refusal in words for people; ignores other failures. */
export function tellRefusal(
  host: string,
  port: number,
  { failure, message }: EgressError,
  told: OnRefused,
): void {
  if (failure === "refused_by_gate")
    told(`${host.includes(":") ? `[${host}]` : host}:${port}`, message);
}

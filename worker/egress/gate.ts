import { errorMessage } from "#shared/kit/errors.ts";
import { HANDLERS, openSocket } from "./connect.ts";
import { createContacts } from "./contacts.ts";
import type { End, GateSocket } from "./gate-socket.ts";
import type { Ask, Handshake } from "./handshake.ts";
import { bothJudges, type Judge, type Resolve } from "./judge.ts";
import { EgressError, type Reached, reach } from "./reach.ts";
import { reachThrough } from "./through.ts";
import { Tunnel } from "./tunnel.ts";
import { bypasses, type Upstream } from "./upstream.ts";

/** Told of a connection that was refused: `place` is `host:port`. */
export type OnRefused = (place: string, reason: string) => void;

export interface GateOptions {
  /** How its clients ask: `socks5` or `httpProxy`. */
  speaks: () => Handshake;
  judge: Judge;
  resolve: Resolve;
  /** What it goes out through where a run says nothing else. */
  upstream?: Upstream | null;
  /** Waited for before anything is judged. */
  settled?: () => Promise<void>;
  onRefused?: OnRefused;
  onClose?: () => void;
  /** Told of bytes as they come in. */
  onReceived?: (bytes: number) => void;
}

/** What a run or a session asks of its browser's gate, on top of what there is. */
export interface Narrowing {
  /** What also has to allow a connection. */
  judge: Judge;
  onRefused: OnRefused;
  /** What it goes out through from now on; absent: as before. */
  upstream?: Upstream | null;
}

/** Bytes from and to servers, or the proxy before them. */
export interface Traffic {
  received: number;
  sent: number;
}

export interface Narrowed {
  /** Since it began, or until `quiet`. */
  readonly bytes: Traffic;
  /** Counts and tells no more; what it refuses stays refused until the gate is another browser's. */
  quiet(): void;
  /** Takes it back. */
  end(): void;
}

/** What a run may know of its browser's gate, and ask of it. */
export interface BrowserGate {
  /** The address that was really connected to for this URL, the last time; null when none was, and through a proxy. */
  addressOf(url: string): string | null;
  /** Why the last connection for this URL was not made; null when it was. */
  failureOf(url: string): EgressError | null;
  narrow(by: Narrowing): Narrowed;
  /** What it goes by now, for what is downloaded beside the browser. */
  wayOut(): { judge: Judge; upstream: Upstream | null };
}

/** A way out: a proxy on loopback that resolves, judges and connects for those who know its port. */
export interface Gate extends BrowserGate {
  readonly port: number;
  /** Bytes from and to servers since the last `reset`. */
  readonly bytes: Traffic;
  /** Connections that stand now. */
  readonly open: number;
  /** Cuts what stands and forgets what was: for another browser. `same_user`: what narrows it goes on. */
  reset(options?: { same_user: boolean }): void;
  close(): void;
}

/** Chromium opens 99 at most, and a few for WebSockets each. */
const MAX_TUNNELS = 1_024;

/** Opens a gate on a free port of 127.0.0.1. @throws when there is none. */
export function openGate(options: GateOptions): Gate {
  const { speaks, judge, resolve, settled, onRefused, onReceived } = options;
  const tunnels = new Set<Tunnel>();
  const contacts = createContacts();
  const total = { received: 0, sent: 0 };
  let narrowings: readonly Narrowing[] = [];
  let way = { judge, upstream: options.upstream ?? null };

  const follow = (now: readonly Narrowing[]) => {
    narrowings = now;
    way = now.reduce(
      (before, by) => ({
        judge: by.judge === before.judge ? by.judge : bothJudges(before.judge, by.judge),
        upstream: by.upstream === undefined ? before.upstream : by.upstream,
      }),
      { judge, upstream: options.upstream ?? null },
    );
  };
  const connect = async (host: string, port: number): Promise<Reached<GateSocket>> => {
    const { judge: by, upstream } = way;
    if (upstream && !bypasses(upstream, host, port)) {
      const reached = await reachThrough(upstream, { judge: by, resolve }, host, port);
      contacts.made(host, port, null);
      return reached;
    }
    const first = contacts.at(host, port);
    const deps = { judge: by, resolve, open: openSocket };
    const reached = await reach(deps, host, port, first);
    contacts.made(host, port, reached.address);
    return reached;
  };
  const reachFor = async ({ host, port }: Ask) => {
    try {
      await settled?.();
      return await connect(host, port);
    } catch (err) {
      const failure =
        err instanceof EgressError ? err : new EgressError("connection_failed", errorMessage(err));
      contacts.failed(host, port, failure);
      if (failure.failure === "refused_by_gate") {
        const place = `${host.includes(":") ? `[${host}]` : host}:${port}`;
        onRefused?.(place, failure.message);
        for (const by of narrowings) by.onRefused(place, failure.message);
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
        total.received += count;
        onReceived?.(count);
      },
      sent: (count) => {
        total.sent += count;
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
  const since = ({ received, sent }: typeof total) => ({
    received: total.received - received,
    sent: total.sent - sent,
  });
  let reset_at = { ...total };
  return {
    port: listener.port,
    get bytes() {
      return since(reset_at);
    },
    get open() {
      return tunnels.size;
    },
    addressOf: (url) => contacts.of(url)?.address ?? null,
    failureOf: (url) => contacts.of(url)?.failure ?? null,
    wayOut: () => way,
    narrow: (by) => {
      const began = { ...total };
      let counted: typeof total | null = null;
      let is_quiet = false;
      const own: Narrowing = {
        ...by,
        onRefused: (place, reason) => is_quiet || by.onRefused(place, reason),
      };
      const before = way;
      follow([...narrowings, own]);
      // No connection that stands goes on by what held before.
      if (by.judge !== before.judge || way.upstream !== before.upstream) cutAll();
      return {
        get bytes() {
          return counted ?? since(began);
        },
        quiet: () => {
          counted ??= since(began);
          is_quiet = true;
        },
        end: () => {
          const { upstream } = way;
          follow(narrowings.filter((one) => one !== own));
          if (way.upstream !== upstream) cutAll();
        },
      };
    },
    reset: ({ same_user } = { same_user: false }) => {
      cutAll();
      contacts.clear();
      reset_at = { ...total };
      if (!same_user) follow([]);
    },
    close: () => {
      options.onClose?.();
      cutAll();
      listener.stop(true);
    },
  };
}

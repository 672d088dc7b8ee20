import { type Contacts, createContacts } from "./contacts.ts";
import { type DoorOptions, openDoor, type Traffic, tellRefusal } from "./door.ts";
import type { Judge } from "./judge.ts";
import type { EgressError } from "./reach.ts";
import type { Upstream } from "./upstream.ts";
import {
  createNarrowings,
  type Narrowing,
  type Narrowings,
  type OnRefused,
  type Way,
} from "./way.ts";

export type { Traffic } from "./door.ts";
export type { Narrowing } from "./way.ts";

export interface Narrowed {
  /** Since it began, or until `quiet`. */
  readonly bytes: Traffic;
  /** Stops counting and reporting; what it refuses stays refused until another browser gets the gate. */
  quiet(): void;
  /** Removes the narrowing. */
  end(): void;
}

/** What a run may know about its browser's gate, and request from it. */
export interface BrowserGate {
  /**
   * The address that was really connected to for this URL, the last time; null when there was none, or it went
   * through a proxy.
   */
  addressOf(url: string): string | null;
  /** Why the last connection for this URL was not made; null when it was. */
  failureOf(url: string): EgressError | null;
  /** Once this returns, the narrowing applies: no connection that it would refuse remains or is made. */
  narrow(by: Narrowing): Narrowed | Promise<Narrowed>;
  /** The rules and proxy that it uses now, for downloads outside the browser. */
  wayOut(): Way;
}

/** A gate: a proxy on loopback that resolves, judges and connects for those who know its port. */
export interface Gate extends BrowserGate {
  readonly port: number;
  /** Bytes from and to servers since the last `reset`. */
  readonly bytes: Traffic;
  /** Number of open connections. */
  readonly open: number;
  /** Cuts open connections and forgets the past, for another browser. `same_user`: its narrowings continue. */
  reset(options?: { same_user: boolean }): void | Promise<void>;
  close(): void | Promise<void>;
}

export interface GateOptions extends Pick<DoorOptions, "speaks" | "resolve" | "settled"> {
  judge: Judge;
  /** The proxy that it uses unless a run names another. */
  upstream?: Upstream | null;
  onRefused?: OnRefused;
  /** Called as bytes arrive. */
  onReceived?: (bytes: number) => void;
}

/** Where a gate's connections are: on this event loop, or in a thread that receives messages. */
export interface GateBody {
  readonly port: number;
  readonly open: number;
  /** Bytes since it was opened. */
  totals(): Traffic;
  /** What became of the connections, as far as their clients can know. */
  contacts(): Contacts;
  /** The change applies once this returns, or once its promise resolves. */
  go(way: Way, how: { cut: boolean; forget: boolean }): void | Promise<void>;
  close(): void | Promise<void>;
}

/** Opens a gate on a free port of 127.0.0.1, on this event loop. @throws when there is none. */
export function openGate(options: GateOptions): Gate {
  const { speaks, judge, resolve, settled, upstream = null, onRefused, onReceived } = options;
  const contacts = createContacts();
  const totals = { received: 0, sent: 0 };
  const narrowings = createNarrowings({ judge, upstream });
  const door = openDoor({
    ...{ speaks, resolve, settled, way: narrowings.way },
    contacts: {
      ...contacts,
      failed: (host, port, failure) => {
        contacts.failed(host, port, failure);
        tellRefusal(host, port, failure, (place, reason) => {
          onRefused?.(place, reason);
          narrowings.refused(place, reason);
        });
      },
    },
    onReceived: (count) => {
      totals.received += count;
      onReceived?.(count);
    },
    onSent: (count) => {
      totals.sent += count;
    },
  });
  return gateOver(narrowings, {
    port: door.port,
    get open() {
      return door.open;
    },
    totals: () => ({ ...totals }),
    contacts: () => contacts,
    go: (way, { cut, forget }) => {
      door.go(way);
      if (cut) door.cut();
      if (forget) contacts.clear();
    },
    close: door.close,
  });
}

/** A gate as its users see it. */
export function gateOver(narrowings: Narrowings, body: GateBody): Gate {
  const since = (before: Traffic): Traffic => {
    const { received, sent } = body.totals();
    return { received: received - before.received, sent: sent - before.sent };
  };
  let reset_at = body.totals();
  return {
    port: body.port,
    get bytes() {
      return since(reset_at);
    },
    get open() {
      return body.open;
    },
    addressOf: (url) => body.contacts().of(url)?.address ?? null,
    failureOf: (url) => body.contacts().of(url)?.failure ?? null,
    wayOut: () => narrowings.way,
    narrow: (by) => {
      const began = body.totals();
      let counted: Traffic | null = null;
      let is_quiet = false;
      const own: Narrowing = {
        ...by,
        onRefused: (place, reason) => is_quiet || by.onRefused(place, reason),
        onBroken: () => is_quiet || by.onBroken?.(),
      };
      const narrowed: Narrowed = {
        get bytes() {
          return counted ?? since(began);
        },
        quiet: () => {
          // Refusals up to now are still reported.
          body.contacts();
          counted ??= since(began);
          is_quiet = true;
        },
        end: () => {
          const { upstream } = narrowings.way;
          narrowings.remove(own);
          const cut = narrowings.way.upstream !== upstream;
          // This only widens the rules, so nobody waits for it.
          void body.go(narrowings.way, { cut, forget: false })?.catch(() => {});
        },
      };
      const before = narrowings.way;
      narrowings.add(own);
      const { upstream } = narrowings.way;
      if (by.judge === before.judge && upstream === before.upstream) return narrowed;
      // No open connection continues under the previous rules.
      const gone = body.go(narrowings.way, { cut: true, forget: false });
      if (!gone) return narrowed;
      return gone.then(
        () => narrowed,
        (err) => {
          narrowings.remove(own);
          throw err;
        },
      );
    },
    reset: ({ same_user } = { same_user: false }) => {
      reset_at = body.totals();
      if (!same_user) narrowings.clear();
      return body.go(narrowings.way, { cut: true, forget: true });
    },
    close: body.close,
  };
}

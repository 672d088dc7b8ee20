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
export type { Narrowing, OnRefused } from "./way.ts";

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
  /** What is given back holds: no connection stands or is made that it would refuse. */
  narrow(by: Narrowing): Narrowed | Promise<Narrowed>;
  /** What it goes by now, for what is downloaded beside the browser. */
  wayOut(): Way;
}

/** A way out: a proxy on loopback that resolves, judges and connects for those who know its port. */
export interface Gate extends BrowserGate {
  readonly port: number;
  /** Bytes from and to servers since the last `reset`. */
  readonly bytes: Traffic;
  /** Connections that stand now. */
  readonly open: number;
  /** Cuts what stands and forgets what was: for another browser. `same_user`: what narrows it goes on. */
  reset(options?: { same_user: boolean }): void | Promise<void>;
  close(): void | Promise<void>;
}

export interface GateOptions extends Pick<DoorOptions, "speaks" | "resolve" | "settled"> {
  judge: Judge;
  /** What it goes out through where a run says nothing else. */
  upstream?: Upstream | null;
  onRefused?: OnRefused;
  /** Told of bytes as they come in. */
  onReceived?: (bytes: number) => void;
}

/** Where a gate's connections are: on this event loop, or in a thread that is told. */
export interface GateBody {
  readonly port: number;
  readonly open: number;
  /** Bytes since it was opened. */
  totals(): Traffic;
  /** What became of the connections, as far as any client of theirs can know it. */
  contacts(): Contacts;
  /** What is given back holds from then on, or once its promise resolves. */
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

/** A gate as those who use it know it. */
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
          // What was refused until now is still told.
          body.contacts();
          counted ??= since(began);
          is_quiet = true;
        },
        end: () => {
          const { upstream } = narrowings.way;
          narrowings.remove(own);
          const cut = narrowings.way.upstream !== upstream;
          // It only widens: nobody waits for it.
          void body.go(narrowings.way, { cut, forget: false })?.catch(() => {});
        },
      };
      const before = narrowings.way;
      narrowings.add(own);
      const { upstream } = narrowings.way;
      if (by.judge === before.judge && upstream === before.upstream) return narrowed;
      // No connection that stands goes on by what held before.
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

import { type Contacts, createContacts } from "./contacts.ts";
import type { Judge } from "./judge.ts";
import { type ListenerOptions, openListener, type Traffic, tellRefusal } from "./listener.ts";
import type { EgressError } from "./reach.ts";
import type { Upstream } from "./upstream.ts";
import {
  createNarrowings,
  type Narrowing,
  type OnRefused,
  type StandIn,
  type Way,
  wayToStandIn,
} from "./way.ts";

export type { Traffic } from "./listener.ts";
export type { Narrowing, StandIn } from "./way.ts";

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
  narrow(by: Narrowing): Narrowed;
  /** The rules and proxy that it uses now, for downloads outside the browser; with a stand-in, none may be made. */
  wayOut(): Way;
}

/** A gate: a proxy on loopback that resolves, judges and connects for those who know its port. */
export interface Gate extends BrowserGate {
  readonly port: number;
  /** Bytes from and to servers since the last `reset`. */
  readonly bytes: Traffic;
  /** Number of open connections. */
  readonly open: number;
  /**
   * Cuts open connections and forgets the past, for another browser. `same_user`: its narrowings and its stand-in
   * continue; else it has the given stand-in, or connects.
   */
  reset(options?: { same_user: boolean; stand_in?: StandIn | null }): void;
  close(): void;
}

export interface GateOptions extends Pick<ListenerOptions, "speaks" | "resolve" | "settled"> {
  judge: Judge;
  /** The proxy that it uses unless a run names another. */
  upstream?: Upstream | null;
  onRefused?: OnRefused | undefined;
  /** Called as bytes arrive. */
  onReceived?: ((bytes: number) => void) | undefined;
}

/** The same contacts, whose refusals are also told to `onRefused`. */
const telling = (contacts: Contacts, onRefused: OnRefused): Contacts => ({
  ...contacts,
  failed: (host, port, failure) => {
    contacts.failed(host, port, failure);
    tellRefusal(host, port, failure, onRefused);
  },
});

const difference = (now: Traffic, before: Traffic): Traffic => ({
  received: now.received - before.received,
  sent: now.sent - before.sent,
});

/** Opens a gate on a free port of 127.0.0.1. @throws when there is none. */
export function openGate(options: GateOptions): Gate {
  const { speaks, judge, resolve, settled, upstream = null, onRefused, onReceived } = options;
  const contacts = createContacts();
  const totals = { received: 0, sent: 0 };
  const narrowings = createNarrowings({ judge, upstream, stand_in: null });
  let stood_in: Way | null = null;
  const wayNow = () => stood_in ?? narrowings.way;
  const listener = openListener({
    speaks,
    resolve,
    settled,
    way: wayNow(),
    contacts: telling(contacts, (place, reason) => {
      onRefused?.(place, reason);
      narrowings.refused(place, reason);
    }),
    onReceived: (count) => {
      totals.received += count;
      onReceived?.(count);
    },
    onSent: (count) => {
      totals.sent += count;
    },
  });
  const since = (before: Traffic) => difference(totals, before);
  const go = (cut: boolean) => {
    listener.go(wayNow());
    if (cut) listener.cut();
  };
  let reset_at: Traffic = { ...totals };
  return {
    port: listener.port,
    get bytes() {
      return since(reset_at);
    },
    get open() {
      return listener.open;
    },
    addressOf: (url) => contacts.of(url)?.address ?? null,
    failureOf: (url) => contacts.of(url)?.failure ?? null,
    wayOut: wayNow,
    narrow: (by) => {
      const began = { ...totals };
      let counted: Traffic | null = null;
      let is_quiet = false;
      const own: Narrowing = {
        ...by,
        onRefused: (place, reason) => is_quiet || by.onRefused(place, reason),
      };
      const before = narrowings.way;
      narrowings.add(own);
      // No open connection continues under the previous rules.
      go(by.judge !== before.judge || narrowings.way.upstream !== before.upstream);
      return {
        get bytes() {
          return counted ?? since(began);
        },
        quiet: () => {
          counted ??= since(began);
          is_quiet = true;
        },
        end: () => {
          const { upstream: used } = narrowings.way;
          narrowings.remove(own);
          go(narrowings.way.upstream !== used);
        },
      };
    },
    reset: ({ same_user, stand_in = null } = { same_user: false }) => {
      reset_at = { ...totals };
      if (!same_user) {
        narrowings.clear();
        stood_in = stand_in && wayToStandIn(stand_in);
      }
      go(true);
      contacts.clear();
    },
    close: listener.close,
  };
}

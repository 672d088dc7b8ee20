import type { Clock } from "#shared/kit/clock.ts";
import type { ViewerEvent } from "#shared/protocol/schema/viewer-event.ts";
import type { ViewerInput } from "./rfb-filter.ts";

/**
 * What one viewer does, for the recording of its session (rules/recordings#viewers-in-a-recording): that it came, took
 * over and left, and its input in bursts. It never learns which keys were pressed.
 */
export interface InputTeller {
  came(): void;
  heard(input: ViewerInput): void;
  /** Tells the rest. Idempotent. */
  left(): void;
}

/** As the audit log names them. */
interface Viewer {
  /** Name of the link or token that let it in; null: it has none. */
  readonly name: string | null;
  readonly address: string;
}

/** How often a viewer's bursts are sent, at most. */
const SEND_MS = 1_000;
/** A burst goes on while the next input of its kind comes within this time, and ends at its longest. */
const JOIN_MS = { pointer: 500, wheel: 1_500, keys: 3_000 } as const;
const LONGEST_MS = 15_000;
/** What comes beyond this between two messages is counted with an earlier burst of its kind. */
const MOST_WAITING = 20;
/** Bits of the pointer's buttons: left, middle and right; the others turn the wheel. */
const CLICKS = 0b000_0111;
const WHEEL = 0b111_1000;

interface Burst {
  readonly kind: keyof typeof JOIN_MS;
  count: number;
  /** Where it began; null for keys. */
  readonly at: { x: number; y: number } | null;
  readonly began: number;
  last: number;
}

interface TellerDeps {
  readonly clock: Clock;
  readonly viewer: Viewer;
  readonly view_only: boolean;
  send(events: ViewerEvent[]): void;
}

export function createInputTeller({ clock, viewer, view_only, send }: TellerDeps): InputTeller {
  const by = (viewer.name ?? viewer.address).slice(0, 200);
  const from = viewer.address.slice(0, 200);
  const mode = view_only ? "view" : "control";
  const over = new AbortController();
  let bursts: Burst[] = [];
  let buttons = 0;
  let took_over = false;
  let sending = false;

  const tellState = (state: "connected" | "took_over" | "disconnected") =>
    send([{ type: "viewer", state, by, from, mode }]);
  const goesOn = ({ kind, began, last }: Burst, now: number): boolean =>
    now - last <= JOIN_MS[kind] && now - began < LONGEST_MS;
  const flush = (all: boolean) => {
    const now = clock.monotonic();
    const waits = bursts.filter(
      (burst, i) => !all && i === bursts.length - 1 && goesOn(burst, now),
    );
    const done = bursts.filter((burst) => !waits.includes(burst));
    bursts = waits;
    if (done.length === 0) return;
    send(
      done.map(({ kind, count, at, began }) => ({
        type: "input" as const,
        kind,
        count,
        ms: now - began,
        by,
        ...at,
      })),
    );
  };
  const sendSoon = async () => {
    if (sending) return;
    sending = true;
    while (bursts.length > 0 && !over.signal.aborted) {
      await clock.sleep(SEND_MS, over.signal);
      if (!over.signal.aborted) flush(false);
    }
    sending = false;
  };
  const add = (kind: Burst["kind"], at: Burst["at"]) => {
    if (!took_over) tellState("took_over");
    took_over = true;
    const now = clock.monotonic();
    const last = bursts.at(-1);
    const full = bursts.length >= MOST_WAITING;
    const joined =
      last?.kind === kind && goesOn(last, now)
        ? last
        : full && bursts.findLast((burst) => burst.kind === kind);
    if (joined) {
      joined.count += 1;
      joined.last = now;
    } else bursts.push({ kind, count: 1, at, began: now, last: now });
    void sendSoon();
  };
  return {
    came: () => tellState("connected"),
    heard: (input) => {
      if (over.signal.aborted) return;
      if (input.kind === "key") return add("keys", null);
      const pressed = input.buttons & ~buttons;
      buttons = input.buttons;
      const { x, y } = input;
      if (pressed & CLICKS) add("pointer", { x, y });
      if (pressed & WHEEL) add("wheel", { x, y });
    },
    left: () => {
      if (over.signal.aborted) return;
      over.abort();
      flush(true);
      tellState("disconnected");
    },
  };
}

/** For a worker that records no viewers. */
export const tellsNobody: InputTeller = { came: () => {}, heard: () => {}, left: () => {} };

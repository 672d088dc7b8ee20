import { useEffect, useReducer } from "react";
import { quietUntil } from "./model/film.ts";
import { grow, seek, startTransport, type Transport, tick, toggle } from "./model/transport.ts";

export type TransportAction =
  | { do: "seek"; ms: number }
  /** Goes on playing from there. */
  | { do: "skip"; ms: number }
  | { do: "toggle" }
  | { do: "pause" }
  | { do: "speed"; speed: number }
  | { do: "tick"; passed_ms: number }
  | { do: "grow"; whole_ms: number; live: boolean };

function reduce(now: Transport, action: TransportAction): Transport {
  switch (action.do) {
    case "seek":
      return seek(now, action.ms);
    case "skip":
      return { ...now, ms: Math.min(action.ms, now.whole_ms) };
    case "toggle":
      return toggle(now);
    case "pause":
      return { ...now, playing: false };
    case "speed":
      return { ...now, speed: action.speed };
    case "tick":
      return tick(now, action.passed_ms);
    case "grow":
      return grow(now, action.whole_ms, action.live);
  }
}

/** The screen was recorded three times a second; the time beside it counts tenths. */
const FRAME_MS = 90;

/** @param at_ms where it begins: null for the end. */
export function useTransport(given: { whole_ms: number; live: boolean; at_ms: number | null }) {
  const [state, act] = useReducer(reduce, given, startTransport);
  const { whole_ms, live } = given;
  useEffect(() => act({ do: "grow", whole_ms, live }), [whole_ms, live]);
  return [state, act] as const;
}

/** Lets the time go by while it plays. @param busy when something happened, to skip what is between; null skips nothing */
export function usePlaying(
  { playing, ms, whole_ms }: Transport,
  act: (action: TransportAction) => void,
  busy: readonly number[] | null,
): void {
  useEffect(() => {
    if (!playing || busy === null) return;
    const to = quietUntil(busy, ms, whole_ms);
    if (to !== null) act({ do: "skip", ms: to });
  }, [playing, ms, whole_ms, busy, act]);
  useEffect(() => {
    if (!playing) return;
    let last = performance.now();
    let frame = requestAnimationFrame(function next(now) {
      if (now - last >= FRAME_MS) {
        act({ do: "tick", passed_ms: now - last });
        last = now;
      }
      frame = requestAnimationFrame(next);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, act]);
}

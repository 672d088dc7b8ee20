import { useEffect, useReducer } from "react";
import { grow, seek, startTransport, type Transport, tick, toggle } from "./model/transport.ts";

export type TransportAction =
  | { do: "seek"; ms: number }
  | { do: "toggle" }
  | { do: "pause" }
  | { do: "speed"; speed: number }
  | { do: "tick"; passed_ms: number }
  | { do: "grow"; whole_ms: number; live: boolean };

function reduce(now: Transport, action: TransportAction): Transport {
  switch (action.do) {
    case "seek":
      return seek(now, action.ms);
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

/** @param at_ms where it begins: null for the beginning, or for the end while the run goes on. */
export function useTransport(given: { whole_ms: number; live: boolean; at_ms: number | null }) {
  const [state, act] = useReducer(reduce, given, startTransport);
  const { whole_ms, live } = given;
  useEffect(() => act({ do: "grow", whole_ms, live }), [whole_ms, live]);
  const { playing } = state;
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
  }, [playing]);
  return [state, act] as const;
}

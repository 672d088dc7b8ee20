import { useSyncExternalStore } from "react";

/** What the window has room for: a phone's bar at its foot, the rail, the side bar. */
export type Room = "phone" | "rail" | "full";

const PHONE = "(max-width: 639.98px)";
const FULL = "(min-width: 900px)";

const roomNow = (): Room =>
  window.matchMedia(FULL).matches ? "full" : window.matchMedia(PHONE).matches ? "phone" : "rail";

const subscribe = (heard: () => void) => {
  const queries = [PHONE, FULL].map((query) => window.matchMedia(query));
  for (const query of queries) query.addEventListener("change", heard);
  return () => {
    for (const query of queries) query.removeEventListener("change", heard);
  };
};

export const useRoom = (): Room => useSyncExternalStore(subscribe, roomNow);

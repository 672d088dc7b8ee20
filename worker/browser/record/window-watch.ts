import type { Clock } from "#shared/kit/clock.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import type { CdpSession } from "../cdp/connection.ts";
import { watchBlankWindows } from "./blank-windows.ts";
import { keepBodies } from "./kept-bodies.ts";
import { type WatchedWindow, watchNewWindows } from "./new-windows.ts";
import type { Pause, Pauses } from "./pauses.ts";
import type { Spool } from "./spool.ts";

export interface WindowWatchDeps {
  root: CdpSession;
  clock: Clock;
  spool: Spool;
  windows(): WatchedWindow[];
  /** Whether bodies are kept. */
  bodies: boolean;
  /** In a browser that others use as well, requests are held only when windows need it. */
  shared_browser: boolean;
  /** Whether requests are stopped that a page causes by writing into an empty window. */
  stops_blank: boolean;
  /** A document is held that the network reports only when it is answered. */
  onHeld(id: string, url: string): void;
  onAnswered(id: string): void;
}

/** Everything that makes the first requests of new windows visible, with their bodies. */
export interface WindowWatch {
  /** In the order in which they are asked. */
  pauses: Pause[];
  watch(target: WatchedWindow): void;
  start(pauses: Pauses): void;
  /** The body of a request that no session can read; null for every other. */
  take(request: { id: string; url: string }): SpooledBody | null;
  /** URLs of bodies that nobody took; the bodies are discarded. */
  finish(): string[];
}

export function watchWindows(deps: WindowWatchDeps): WindowWatch {
  const { root, clock } = deps;
  const kept = keepBodies(root, deps.spool, () => documents.allSeen());
  const documents = watchNewWindows({ ...deps, bodies: deps.bodies ? kept : null });
  const stops = deps.stops_blank;
  const blank = watchBlankWindows({ root, clock, bodies: kept, windows: documents, stops });
  const holds_blank = !deps.shared_browser && (deps.bodies || stops);
  return {
    pauses: [documents.pause, kept.pause, ...(holds_blank ? [blank.pause] : [])],
    watch: (target) => {
      documents.watch(target);
      blank.watch(target);
    },
    start: (pauses) => {
      if (holds_blank) blank.start(pauses);
    },
    take: ({ id, url }) => (documents.isUnseen(id) ? kept.take(url) : null),
    finish: kept.finish,
  };
}

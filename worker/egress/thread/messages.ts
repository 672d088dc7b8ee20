import type { MessagePort } from "node:worker_threads";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { JudgeSettings } from "../judge.ts";
import type { EgressFailure } from "../reach.ts";
import type { Upstream } from "../upstream.ts";

/** What the worker's event loop and the thread of its gates say to each other. All of it is copied on its way. */

/** A judge's settings without what cannot be copied, which the thread has of its own. */
export type JudgeData = Omit<JudgeSettings, "protected" | "own_ports"> & {
  own_ports: readonly number[];
};

/** What a gate goes by: the worker's own judge, which the thread has, these beside it, and the proxy. */
export interface WayData {
  judges: readonly JudgeData[];
  upstream: Upstream | null;
}

/** Places in the counters of a gate. */
export const RECEIVED = 0;
export const SENT = 1;
export const OPEN = 2;

export type ToThread =
  | {
      kind: "begin";
      /** Where `ToWorker` goes. */
      answers: MessagePort;
      /** Not 0 while the worker has been told that there are answers, and has not looked yet. */
      bell: Int32Array<SharedArrayBuffer>;
      judge: JudgeData;
      /** What the worker dials. */
      own_places: readonly FleetPlace[];
      /** What else the hub has told. */
      places: readonly FleetPlace[];
    }
  /** `port` 0: any that is free. */
  | { kind: "open"; gate: number; step: number; port: number; way: WayData; counts: Counts }
  | { kind: "go"; gate: number; step: number; way: WayData; cut: boolean; forget: boolean }
  | { kind: "close"; gate: number; step: number }
  | { kind: "places"; places: readonly FleetPlace[] }
  | { kind: "resolved"; ask: number; addresses: string[] | null; reason: string }
  | { kind: "stop" };

export type Counts = BigInt64Array<SharedArrayBuffer>;

export type ToWorker =
  /** The step and all before it hold. `error`: it could not be taken, the gate is shut. */
  | { kind: "done"; gate: number; step: number; port: number; error: string | null }
  /** Said before the client of the connection hears of it. */
  | { kind: "made"; gate: number; host: string; port: number; address: string | null }
  | {
      kind: "failed";
      gate: number;
      host: string;
      port: number;
      failure: EgressFailure;
      message: string;
    }
  | { kind: "resolve"; ask: number; host: string };

import type { MessagePort } from "node:worker_threads";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { JudgeSettings } from "../judge.ts";
import type { EgressFailure } from "../reach.ts";
import type { Upstream } from "../upstream.ts";

/** The messages between the worker's event loop and the thread of its gates. All of them are copied. */

/** A judge's settings without what cannot be copied, of which the thread has its own. */
export type JudgeData = Omit<JudgeSettings, "protected" | "own_ports"> & {
  own_ports: readonly number[];
};

/** The rules of a gate: the worker's own judge, which the thread has, these in addition, and the proxy. */
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
      /** Not 0 while the worker has been notified of answers and has not looked yet. */
      bell: Int32Array<SharedArrayBuffer>;
      judge: JudgeData;
      /** The addresses that the worker dials. */
      own_places: readonly FleetPlace[];
      /** The other places that the hub has reported. */
      places: readonly FleetPlace[];
    }
  /** `port` 0: any free port. */
  | { kind: "open"; gate: number; step: number; port: number; way: WayData; counts: Counts }
  | { kind: "go"; gate: number; step: number; way: WayData; cut: boolean; forget: boolean }
  | { kind: "close"; gate: number; step: number }
  | { kind: "places"; places: readonly FleetPlace[] }
  | { kind: "resolved"; ask: number; addresses: string[] | null; reason: string }
  | { kind: "stop" };

export type Counts = BigInt64Array<SharedArrayBuffer>;

export type ToWorker =
  /** The step and all before it apply. `error`: it could not be applied, and the gate is shut. */
  | { kind: "done"; gate: number; step: number; port: number; error: string | null }
  /** Sent before the client of the connection learns of it. */
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

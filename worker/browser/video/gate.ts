import { openGate, type Traffic } from "#worker/egress/gate.ts";
import { httpProxy } from "#worker/egress/http-proxy.ts";
import type { Judge, Resolve } from "#worker/egress/judge.ts";
import type { Upstream } from "#worker/egress/upstream.ts";

/**
 * The downloaders' only egress: a gate that speaks HTTP, as ffmpeg needs it. Each connection they make, for a manifest,
 * a redirect or a segment, is judged on the address it is really made to, and its bytes are counted.
 */
export interface VideoGate {
  readonly url: string;
  /** Bytes received since the last `restart`. */
  readonly bytes: number;
  /** Total bytes received. */
  readonly traffic: Traffic;
  /** What was refused, with the reason. */
  readonly refused: readonly string[];
  /** Starts counting again. */
  restart(): void;
  close(): void;
}

export interface VideoGateOptions {
  judge: Judge;
  resolve: Resolve;
  upstream: Upstream | null;
  /** Called once, when more than `max_bytes` came in since the last restart. */
  max_bytes: number;
  onTooMuch(): void;
}

const MAX_REFUSALS = 20;

export function openVideoGate({
  judge,
  resolve,
  upstream,
  max_bytes,
  onTooMuch,
}: VideoGateOptions): VideoGate {
  const refused: string[] = [];
  let bytes = 0;
  const gate = openGate({
    speaks: httpProxy,
    judge,
    resolve,
    upstream,
    onRefused: (place, reason) => {
      if (refused.length < MAX_REFUSALS) refused.push(`${place}: ${reason}`);
    },
    onReceived: (count) => {
      const before = bytes;
      bytes += count;
      if (bytes > max_bytes && before <= max_bytes) onTooMuch();
    },
  });
  return {
    url: `http://127.0.0.1:${gate.port}`,
    refused,
    get bytes() {
      return bytes;
    },
    get traffic() {
      return gate.bytes;
    },
    restart: () => {
      bytes = 0;
    },
    close: gate.close,
  };
}

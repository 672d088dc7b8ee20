import type { EgressError } from "./reach.ts";

/** How a client of a gate says where it wants to go: one per connection, fed what comes until it knows. */
export interface Handshake {
  take(chunk: Buffer): Step;
}

/** `reply` is what the client is told now. `bad`: what came is no request, and the reply is the last word. */
export type Step = { reply: Uint8Array[] } & (
  | { kind: "more" }
  | { kind: "bad" }
  | { kind: "ask"; ask: Ask }
);

export interface Ask {
  host: string;
  port: number;
  /** What the client is told once the connection stands. */
  granted: Uint8Array | null;
  /** What the server is sent first. */
  first: Uint8Array[];
  /** What the client is told when it does not come to stand. */
  failed(err: EgressError): Uint8Array;
}

/** Printable ASCII without white space: anything else is no name that could be resolved. */
export const isHostText = (host: string): boolean => /^[\x21-\x7e]{1,255}$/.test(host);

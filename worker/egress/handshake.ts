import type { EgressError } from "./reach.ts";

/** How a client of a gate says where it wants to connect: one per connection, fed with incoming bytes until it knows. */
export interface Handshake {
  /** Sent before the client says anything, because the answer to its first words is known: one exchange less. */
  readonly hello: Uint8Array | null;
  take(chunk: Buffer): Step;
}

/** `reply` is sent to the client now. `bad`: the bytes are not a request, and the reply ends the connection. */
export type Step = { reply: Uint8Array[] } & (
  | { kind: "more" }
  | { kind: "bad" }
  | { kind: "ask"; ask: Ask }
);

export interface Ask {
  host: string;
  port: number;
  /** Sent to the client once the connection is made. */
  granted: Uint8Array | null;
  /** Sent to the server first. */
  first: Uint8Array[];
  /** Sent to the client when the connection fails. */
  failed(err: EgressError): Uint8Array;
}

/** Printable ASCII without white space: anything else is not a name that could be resolved. */
export const isHostText = (host: string): boolean => /^[\x21-\x7e]{1,255}$/.test(host);

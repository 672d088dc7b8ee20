import type { Socket } from "bun";

export type GateSocket = Socket<End>;

/** What a socket of a gate does with its events. */
export interface End {
  data(chunk: Buffer): void;
  drain(): void;
  /** `err`: it was not closed cleanly. */
  closed(err: Error | undefined): void;
}

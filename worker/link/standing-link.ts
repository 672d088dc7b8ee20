import type { HubRegistered, WorkerToHub } from "#shared/protocol/link/messages.ts";
import { isCounted, Outbox } from "#shared/protocol/link/outbox.ts";
import type { LinkSession, Transmit } from "./link-session.ts";

/**
 * A registered link, over any number of sockets: messages sent while there is none wait for the next, and never reach
 * another link.
 */
export class StandingLink implements LinkSession {
  readonly hub: HubRegistered;
  readonly signal: AbortSignal;
  /** Messages of the hub received so far. */
  received = 0;
  /** How often its socket was lost or replaced. */
  changes = 0;
  readonly #over = new AbortController();
  readonly #outbox: Outbox | null;
  #transmit: Transmit | null;
  /** Aborts when there is a socket again. */
  #back = new AbortController();

  constructor(hub: HubRegistered, transmit: Transmit) {
    this.hub = hub;
    this.signal = this.#over.signal;
    this.#outbox = hub.link_grace_ms ? new Outbox() : null;
    this.#transmit = transmit;
  }

  /** How long it may be without a socket, in milliseconds. */
  get grace_ms(): number {
    return this.hub.link_grace_ms ?? 0;
  }
  /** How many of its messages the hub has confirmed. */
  get acknowledged(): number {
    return this.#outbox?.acknowledged ?? 0;
  }
  get is_cut(): boolean {
    return this.#transmit === null;
  }

  /** False when the link is gone; the message is dropped then. */
  send(message: WorkerToHub): boolean {
    if (this.signal.aborted) return false;
    const text = JSON.stringify(message);
    const kept = isCounted(message.type) ? this.#outbox : null;
    const transmit = this.#transmit;
    kept?.add(text, transmit !== null);
    return (transmit?.(text) ?? false) || kept !== null;
  }

  /** A message of this type has arrived. */
  heard(type: string): void {
    if (isCounted(type)) this.received += 1;
  }

  /** The hub has received this many messages. */
  acknowledge(received: number): void {
    this.#outbox?.acknowledge(received);
  }

  /** The socket is gone. @returns a signal that aborts when there is another, or the link is given up. */
  cut(): AbortSignal {
    this.#transmit = null;
    this.changes += 1;
    this.#back = new AbortController();
    return AbortSignal.any([this.#back.signal, this.signal]);
  }

  /** Continues over another socket. False when the hub lacks a message that is no longer kept. */
  resume(transmit: Transmit, received: number): boolean {
    if (this.signal.aborted || !this.#outbox?.canResume(received)) return false;
    this.#transmit = transmit;
    this.changes += 1;
    this.#back.abort();
    for (const text of this.#outbox.resume(received)) transmit(text);
    return true;
  }

  /** The link is gone for good. Idempotent. */
  end(): void {
    this.#transmit = null;
    this.#over.abort();
  }
}

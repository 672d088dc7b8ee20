/** Messages of the handshake and heartbeats: they are about a socket, and are never sent again on another. */
const OF_SOCKET: ReadonlySet<string> = new Set([
  "registration",
  "HubRegistered",
  "WorkerHeartbeat",
  "HubHeartbeatAck",
]);

/** Whether messages of this type are counted on a link, and sent again on the next socket when the first was cut. */
export const isCounted = (type: string): boolean => !OF_SOCKET.has(type);

/** A peer that has missed more than this can no longer be brought up to date. */
const MOST_CHARS = 16 * 1024 * 1024;

/**
 * Messages of one side of a link that the other has not confirmed. A socket delivers in order or breaks, so both sides
 * count, and a number says where to continue.
 */
export class Outbox {
  #kept: string[] = [];
  #chars = 0;
  /** The number of the first kept message. */
  #first: number;
  /** How many of the kept messages were given to a socket. */
  #sent = 0;

  /** `first`: how many the other side has received from an earlier holder of this link. */
  constructor(first = 0) {
    this.#first = first;
  }

  /** How many messages the other side has confirmed. */
  get acknowledged(): number {
    return this.#first;
  }

  /** `sent`: a socket has it; else it waits for the next one. */
  add(text: string, sent: boolean): void {
    this.#kept.push(text);
    this.#chars += text.length;
    if (sent) this.#sent = this.#kept.length;
    while (this.#chars > MOST_CHARS) this.#drop();
  }

  /** The other side has received this many messages in all. */
  acknowledge(received: number): void {
    while (this.#first < received && this.#sent > 0) this.#drop();
  }

  /** Whether a peer that has received this many can be sent the rest. */
  canResume(received: number): boolean {
    return received >= this.#first && received <= this.#first + this.#sent;
  }

  /** What that peer has not received, in order; counts as sent from now on. */
  resume(received: number): readonly string[] {
    this.acknowledge(received);
    this.#sent = this.#kept.length;
    return this.#kept;
  }

  #drop(): void {
    this.#chars -= this.#kept.shift()?.length ?? 0;
    this.#first += 1;
    this.#sent = Math.max(0, this.#sent - 1);
  }
}

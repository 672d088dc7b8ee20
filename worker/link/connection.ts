import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { MAX_LINK_FRAME_BYTES } from "#shared/protocol/limits.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";
import { decoderOf } from "#shared/protocol/link/codec.ts";
import {
  type HubRegistered,
  HubToWorker,
  type Registration,
} from "#shared/protocol/link/messages.ts";
import { tlsTrouble } from "#shared/protocol/tls-trouble.ts";
import { openHubSocket } from "#shared/protocol/trust.ts";
import type { Transmit } from "./link-session.ts";
import type { StandingLink } from "./standing-link.ts";

/** How long the hub may take to answer a close frame before the socket is dropped. */
const CLOSE_MS = 1_000;
/** A hub that stops reading must not fill the worker's memory. */
const MAX_UNSENT_BYTES = 4 * MAX_LINK_FRAME_BYTES;

const decode = decoderOf<HubToWorker>(HubToWorker);

/** How a link ended. `up_ms`: how long it stood after HubRegistered, null when it never did. */
export interface LinkEnd {
  code: number;
  reason: string;
  up_ms: number | null;
}

export interface ConnectionDeps {
  url: string;
  clock: Clock;
  log: Log;
  registration: Registration;
  /** Deadline of each half of the handshake, in milliseconds. */
  handshake_ms: number;
  /** The link that the hub's answer is about; null when it cannot be resumed. */
  onRegistered(hub: HubRegistered, transmit: Transmit): StandingLink | null;
  onMessage(session: StandingLink, message: HubToWorker): void;
}

/** One WebSocket to the hub, from dialling to its close. */
export class LinkConnection {
  /** Resolves once, when the socket is gone; never rejects. */
  readonly ended: Promise<LinkEnd>;
  /** Wall clock of the last frame received, null before the first. */
  last_received_at: number | null = null;
  session: StandingLink | null = null;

  readonly #deps: ConnectionDeps;
  readonly #socket: WebSocket;
  readonly #lost = new AbortController();
  readonly #opened = new AbortController();
  readonly #answered = new AbortController();
  #registered_at: number | null = null;
  #closing: { code: number; reason: string } | null = null;
  #failure = "";

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
    // A hub that receives this knows that another hub may keep the link.
    this.#socket = openHubSocket(deps.registration.resume ? `${deps.url}?resume=1` : deps.url);
    this.ended = new Promise((resolve) => {
      this.#socket.onclose = (event) => {
        this.#lost.abort();
        const seen = this.#closing ?? { code: event.code, reason: event.reason || this.#failure };
        const up_ms =
          this.#registered_at === null ? null : deps.clock.monotonic() - this.#registered_at;
        this.session = null;
        resolve({ ...seen, up_ms });
      };
    });
    // Bun reports a refused or failed dial here and then closes with 1006 and no reason.
    this.#socket.onerror = (event) => {
      const { message } = event as Event & { message?: string };
      this.#failure = tlsTrouble(message) ?? message ?? "connection failed";
    };
    this.#socket.onopen = () => this.#open();
    this.#socket.onmessage = (event) => this.#receive(event.data);
    this.#deadline(this.#opened.signal, "the hub did not answer the dial");
  }

  /** Says goodbye and drops the socket; does not wait for a hub that does not answer. Idempotent. */
  close(code: number, reason: string): void {
    if (this.#closing || this.#lost.signal.aborted) return;
    this.#closing = { code, reason };
    this.session = null;
    const standing = this.#socket.readyState === WebSocket.OPEN;
    this.#lost.abort();
    if (standing) this.#sayGoodbye(code, reason);
    else this.#socket.terminate();
  }

  #sayGoodbye(code: number, reason: string): void {
    // A close frame holds 123 bytes of reason.
    this.#socket.close(code, reason.replace(/[^ -~]/g, "?").slice(0, 120));
    const gone = new AbortController();
    void this.ended.then(() => gone.abort());
    void this.#deps.clock.sleep(CLOSE_MS, gone.signal).then(() => {
      if (!gone.signal.aborted) this.#socket.terminate();
    });
  }

  #deadline(met: AbortSignal, reason: string): void {
    const signal = AbortSignal.any([met, this.#lost.signal]);
    const ms = this.#deps.handshake_ms;
    void this.#deps.clock.sleep(ms, signal).then(() => {
      if (!signal.aborted) this.close(LINK_CLOSE.liveness, `${reason} within ${ms} ms`);
    });
  }

  #open(): void {
    this.#opened.abort();
    this.#socket.send(JSON.stringify(this.#deps.registration));
    this.#deadline(this.#answered.signal, "the hub did not answer the registration");
  }

  #receive(data: unknown): void {
    if (this.#lost.signal.aborted) return;
    this.last_received_at = this.#deps.clock.monotonic();
    if (typeof data !== "string")
      this.close(LINK_CLOSE.bad_message, "binary frames are not part of the link");
    else if (data.length > MAX_LINK_FRAME_BYTES)
      this.close(LINK_CLOSE.too_big, `a frame is at most ${MAX_LINK_FRAME_BYTES} bytes`);
    else this.#read(data);
  }

  #read(frame: string): void {
    const { log } = this.#deps;
    const decoded = decode(frame);
    if (decoded.kind !== "bad")
      this.session?.heard(decoded.kind === "unknown" ? decoded.type : decoded.message.type);
    switch (decoded.kind) {
      case "unknown":
        log.debug({ type: decoded.type }, "skipped a link message of unknown type");
        break;
      case "bad":
        log.error({ reason: decoded.reason }, "hub sent a malformed link message");
        this.close(LINK_CLOSE.bad_message, decoded.reason);
        break;
      case "message":
        try {
          this.#handle(decoded.message);
        } catch (err) {
          log.error({ type: decoded.message.type, err }, "could not handle a link message");
        }
    }
  }

  #handle(message: HubToWorker): void {
    if (this.session) this.#deps.onMessage(this.session, message);
    else if (message.type === "HubRegistered") this.#registered(message);
    else this.close(LINK_CLOSE.bad_message, `${message.type} before HubRegistered`);
  }

  #registered(hub: HubRegistered): void {
    this.#answered.abort();
    this.#registered_at = this.#deps.clock.monotonic();
    const session = this.#deps.onRegistered(hub, (text) => this.#transmit(text));
    if (session === null) this.close(LINK_CLOSE.replaced, "the link has been given up");
    else if (!this.#lost.signal.aborted) this.session = session;
  }

  #transmit(text: string): boolean {
    if (this.#lost.signal.aborted) return false;
    if (this.#socket.bufferedAmount > MAX_UNSENT_BYTES) {
      this.close(LINK_CLOSE.too_big, "the hub does not read its link");
      return false;
    }
    this.#socket.send(text);
    return true;
  }
}

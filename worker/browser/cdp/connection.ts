import type { Protocol } from "devtools-protocol";
import type { ProtocolMapping } from "devtools-protocol/types/protocol-mapping.js";
import { DeadlineError, setDeadline } from "#shared/kit/clock.ts";
import { type AskedTabs, createAskedTabs } from "./asked-tabs.ts";
import { AmbiguousBodyError, type BodySink, createBodyDecoder } from "./body-decoder.ts";
import type { CdpTransport, LargeTaker } from "./transport.ts";

export type { Protocol };

type Commands = ProtocolMapping.Commands;
type Events = ProtocolMapping.Events;

/** A command was answered with an error, or its session, target or browser is gone (`gone: true`). */
export class CdpError extends Error {
  readonly method: string;
  readonly code: number | null;
  readonly gone: boolean;
  constructor(method: string, message: string, code: number | null, gone: boolean) {
    super(`${method}: ${message}`);
    this.name = "CdpError";
    this.method = method;
    this.code = code;
    this.gone = gone;
  }
}

/** Lets a target run that was held when it was attached. */
const RELEASE = "Runtime.runIfWaitingForDebugger";
const NEW_TAB = "Target.createTarget";

/** Chromium's error code for a session id that it does not know, or no longer knows. */
const SESSION_NOT_FOUND = -32001;
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_LONGEST_MS = 60_000;
/** More than pings and other small messages bring within one deadline: bodies are on their way. */
const FLOW_BYTES = 64 * 1024;

interface Pending {
  session: CdpSession;
  /** Set for `sendBody`: receives the bytes of a large answer as they arrive. */
  sink: BodySink | null;
  error: CdpError;
  /** Stops its deadline. */
  stop(): void;
  resolve(result: unknown): void;
  reject(err: Error): void;
}

export interface SendOptions {
  /** Deadline of this command; a `DeadlineError` names the method. Default 10 s. */
  timeout_ms?: number;
  /**
   * An answer waits on the wire behind everything sent before it, such as 64 MB of a body. With this option, the
   * deadline restarts as long as bodies arrive or the target itself sends something, up to this many milliseconds in
   * all. Default: 60 s for a command without a `timeout_ms`, else none.
   */
  longest_ms?: number;
}

type Handler = (params: unknown, session: CdpSession) => void;

/**
 * One attached target, or the browser itself (`session_id` null). Handlers run synchronously, in the order of the
 * wire, so a command sent from one reaches the browser before anything that a later event causes.
 */
export class CdpSession {
  readonly session_id: string | null;
  /** The target that was attached; null for the browser. */
  readonly target: Protocol.Target.TargetInfo | null;
  readonly parent: CdpSession | null;
  /** Resolves when the session is detached or the browser is gone. */
  readonly closed: Promise<void>;
  is_closed = false;
  /** Number of this session's events so far. */
  told = 0;
  /** Called by the connection only. */
  readonly markClosed: () => void;
  private readonly connection: CdpConnection;
  private readonly handlers = new Map<string, Set<Handler>>();

  constructor(
    connection: CdpConnection,
    session_id: string | null,
    target: Protocol.Target.TargetInfo | null,
    parent: CdpSession | null,
  ) {
    this.connection = connection;
    this.session_id = session_id;
    this.target = target;
    this.parent = parent;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.markClosed = () => {
      this.is_closed = true;
      resolve();
    };
  }

  /** @throws CdpError when the browser refuses or is gone; DeadlineError when it does not answer in time. */
  send<M extends keyof Commands>(
    method: M,
    ...[params, options]: Commands[M]["paramsType"] extends [infer P]
      ? [params: P, options?: SendOptions]
      : [params?: Commands[M]["paramsType"][0], options?: SendOptions]
  ): Promise<Commands[M]["returnType"]> {
    return this.connection.send(this, method, params, options) as Promise<
      Commands[M]["returnType"]
    >;
  }

  /**
   * Reads a response body into `sink`, decoded and byte for byte; a large one is never held in memory as a whole.
   * @throws CdpError, DeadlineError as `send`; whatever the sink throws.
   */
  async sendBody(
    method: "Network.getResponseBody" | "Fetch.getResponseBody",
    params: { requestId: string },
    sink: BodySink,
    options?: SendOptions,
  ): Promise<void> {
    let answer: unknown;
    try {
      answer = await this.connection.send(this, method, params, options, sink);
    } catch (err) {
      if (!(err instanceof AmbiguousBodyError)) throw err;
      sink.restart();
      answer = await this.connection.send(this, method, params, options);
    }
    // Undefined means that the sink already has everything.
    if (!answer) return;
    const { body, base64Encoded } = answer as Protocol.Network.GetResponseBodyResponse;
    sink.write(Buffer.from(body, base64Encoded ? "base64" : "utf8"));
  }

  /**
   * `Network.streamResourceContent`: the part of a body that has arrived goes into `sink`, however large it is; the
   * rest comes as `data` of `Network.dataReceived`. @throws as `sendBody`
   */
  async streamBody(request_id: string, sink: BodySink, options?: SendOptions): Promise<void> {
    const params = { requestId: request_id };
    const answer = await this.connection.send(
      this,
      "Network.streamResourceContent",
      params,
      options,
      sink,
    );
    if (!answer) return;
    const { bufferedData } = answer as Protocol.Network.StreamResourceContentResponse;
    sink.write(Buffer.from(bufferedData, "base64"));
  }

  /** Sends without waiting and drops the answer. For commands whose failure another event reports. */
  post<M extends keyof Commands>(method: M, params?: Commands[M]["paramsType"][0]): void {
    this.connection.send(this, method, params).catch(() => {});
  }

  /** Listens for an event of this session; returns a function that stops it. */
  on<E extends keyof Events>(
    event: E,
    handler: (params: Events[E] extends [infer P] ? P : undefined, session: CdpSession) => void,
  ): () => void {
    const set = this.handlers.get(event) ?? new Set<Handler>();
    this.handlers.set(event, set);
    set.add(handler as Handler);
    return () => set.delete(handler as Handler);
  }

  /** Forgets every listener. Called by the connection only. */
  readonly mute = (): void => this.handlers.clear();

  /** Called by the connection, and for events that the browser reported to nobody. */
  emit(event: string, params: unknown): void {
    this.told += 1;
    for (const handler of this.handlers.get(event) ?? []) {
      try {
        handler(params, this);
      } catch (err) {
        // A bug in a handler is the process's to report, but must not cost the messages after this one.
        queueMicrotask(() => {
          throw err;
        });
      }
    }
  }
}

interface Message {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string };
  sessionId?: string;
}

/** A browser over one transport: the root session and every session attached below it (flat mode). */
export class CdpConnection {
  readonly root: CdpSession;
  readonly closed: Promise<void>;
  /** Bytes that the browser has sent; while the number does not change, the browser is silent. */
  heard = 0;
  /** This connection reports its own commands to it; so must the owner of any other connection to the same browser. */
  readonly asked_tabs: AskedTabs = createAskedTabs();
  /** What a held target must wait for before this connection lets it run; null when there is nothing. */
  beforeRelease: ((session: CdpSession) => Promise<void> | null) | null = null;
  /** Each is given every new session before any listener hears of it, so that its commands come first. */
  readonly onSession = new Set<(session: CdpSession) => void>();
  /** What is attached now, by session id. Changed by the connection only. */
  readonly sessions = new Map<string, CdpSession>();
  private readonly transport: CdpTransport;
  private readonly pending = new Map<number, Pending>();
  private nextId = 0;

  constructor(transport: CdpTransport) {
    this.transport = transport;
    this.root = new CdpSession(this, null, null, null);
    this.closed = this.root.closed;
    transport.takeLarge = (head) => this.takeLarge(head);
    transport.onBytes = (bytes) => {
      this.heard += bytes;
    };
    transport.onMessage = (text) => this.receive(JSON.parse(text) as Message);
    transport.onClose = () => this.onTransportClosed();
  }

  /** The session with this id, if it is still attached. */
  session(session_id: string): CdpSession | null {
    return this.sessions.get(session_id) ?? null;
  }

  send(
    session: CdpSession,
    method: string,
    params: unknown,
    options: SendOptions = {},
    sink: BodySink | null = null,
  ): Promise<unknown> {
    // Created here so that its stack shows the caller.
    const error = new CdpError(method, "target is gone", null, true);
    if (session.is_closed) return Promise.reject(error);
    if (method === NEW_TAB) this.asked_tabs.expect();
    const id = ++this.nextId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const stop = this.startDeadline(session, options, (ms) => {
      this.pending.delete(id);
      reject(new DeadlineError(`CDP ${method}`, ms));
    });
    this.pending.set(id, { session, sink, error, stop, resolve, reject });
    const transmit = () =>
      this.transport.send(
        JSON.stringify({ id, method, params, sessionId: session.session_id ?? undefined }),
      );
    const held = method === RELEASE ? (this.beforeRelease?.(session) ?? null) : null;
    if (held === null) transmit();
    else void held.then(() => session.is_closed || transmit());
    return promise;
  }

  /** Starts a command's deadline; returns a function that stops it. */
  private startDeadline(
    session: CdpSession,
    options: SendOptions,
    onLate: (ms: number) => void,
  ): () => void {
    const { timeout_ms = DEFAULT_TIMEOUT_MS } = options;
    const longest_ms = options.longest_ms ?? options.timeout_ms ?? DEFAULT_LONGEST_MS;
    let { heard } = this;
    let { told } = session;
    let waited_ms = 0;
    let next_ms = timeout_ms;
    let stop: () => void;
    const onTime = () => {
      waited_ms += next_ms;
      next_ms = Math.min(timeout_ms, longest_ms - waited_ms);
      const goes_on = this.heard - heard > FLOW_BYTES || session.told !== told;
      if (!goes_on || next_ms <= 0) return onLate(waited_ms);
      ({ heard } = this);
      ({ told } = session);
      stop = setDeadline(next_ms, onTime);
    };
    stop = setDeadline(next_ms, onTime);
    return () => stop();
  }

  /** For the next user of the browser: as when it was opened, no listeners, nothing attached, nothing held back. */
  async startOver(): Promise<void> {
    const { root } = this;
    root.mute();
    const attached = [...this.sessions.values()];
    for (const session of attached) session.mute();
    await Promise.allSettled([
      root.send("Target.setAutoAttach", {
        autoAttach: false,
        waitForDebuggerOnStart: false,
        flatten: true,
      }),
      root.send("Fetch.disable"),
      root.send("Target.setDiscoverTargets", { discover: false }),
      // What was attached through another session is detached with it.
      ...attached
        .filter(({ parent }) => parent === root)
        .map(({ session_id }) =>
          root.send("Target.detachFromTarget", { sessionId: session_id ?? undefined }),
        ),
    ]);
  }

  close(): void {
    this.transport.close();
  }

  private receive(message: Message): void {
    if (message.id !== undefined) {
      this.settle(message.id, message);
      return;
    }
    const session = message.sessionId ? this.sessions.get(message.sessionId) : this.root;
    if (!session || !message.method) return;
    if (message.method === "Target.attachedToTarget") {
      const { sessionId, targetInfo } = message.params as Protocol.Target.AttachedToTargetEvent;
      const added = new CdpSession(this, sessionId, targetInfo, session);
      this.sessions.set(sessionId, added);
      for (const tell of this.onSession) tell(added);
    }
    session.emit(message.method, message.params);
    if (message.method === "Target.detachedFromTarget")
      this.detach((message.params as Protocol.Target.DetachedFromTargetEvent).sessionId);
  }

  private settle(id: number, message: Message): void {
    const entry = this.pending.get(id);
    if (!entry) return;
    this.pending.delete(id);
    entry.stop();
    if (!message.error) {
      entry.resolve(message.result);
      return;
    }
    const { code, message: text } = message.error;
    entry.reject(
      Object.assign(new CdpError(entry.error.method, text, code, code === SESSION_NOT_FOUND), {
        stack: entry.error.stack,
      }),
    );
  }

  /**
   * `{"id":1,"result":{"body":"…` (or `bufferedData`) is decoded as it arrives when a sink is waiting; otherwise it
   * is assembled.
   */
  private takeLarge(head: Buffer): LargeTaker | null {
    const match = /^\{"id":(\d+),"result":\{"(body|bufferedData)":"/.exec(
      head.toString("latin1", 0, 64),
    );
    const id = Number(match?.[1]);
    const sink = this.pending.get(id)?.sink;
    if (!match || !sink) return null;
    const decoder = createBodyDecoder(match[0].length, sink, match[2] === "bufferedData");
    return (bytes) => {
      const entry = this.pending.get(id);
      // Nobody waits for it any more: its file is gone.
      if (!entry) return;
      if (bytes) return decoder.feed(bytes);
      this.pending.delete(id);
      entry.stop();
      const failure = decoder.end();
      if (failure) entry.reject(failure);
      else entry.resolve(undefined);
    };
  }

  private detach(session_id: string): void {
    const session = this.sessions.get(session_id);
    if (!session) return;
    // Sessions attached through this one are detached with it, and no event reports that.
    for (const child of [...this.sessions.values()])
      if (child.parent === session && child.session_id !== null) this.detach(child.session_id);
    this.sessions.delete(session_id);
    session.markClosed();
    this.rejectPending((entry) => entry.session === session);
  }

  private onTransportClosed(): void {
    for (const session of this.sessions.values()) session.markClosed();
    this.sessions.clear();
    this.root.markClosed();
    this.rejectPending(() => true);
  }

  private rejectPending(match: (entry: Pending) => boolean): void {
    for (const [id, entry] of this.pending) {
      if (!match(entry)) continue;
      this.pending.delete(id);
      entry.stop();
      entry.reject(entry.error);
    }
  }
}

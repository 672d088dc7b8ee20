import { ACTION_TIMEOUTS_S } from "./action-timeouts.ts";
import { again, isBusy } from "./again.ts";
import { type CdpTransport, cdpTransport } from "./cdp-transport.ts";
import type {
  ActionReply,
  CreateSessionInput,
  NetworkLog,
  PastSession,
  Profile,
  RecordedInput,
  Session,
  SessionActionInputs,
  SessionActionResults,
  SessionCookie,
  SessionFile,
} from "./client-types.ts";
import { type CallOptions, everyItem, type Http } from "./http.ts";
import { sessionRecordings } from "./session-recordings.ts";

type SessionActionName = keyof SessionActionInputs;
type SessionActionInput<A extends SessionActionName> = SessionActionInputs[A];

/** Answer of an action; `R` is the type of its `result`. */
export type Reply<R> = Omit<ActionReply, "result"> & { result: R };

type Action<A extends SessionActionName> =
  Record<never, never> extends SessionActionInput<A>
    ? <R = SessionActionResults[A]>(
        args?: SessionActionInput<A>,
        call?: CallOptions,
      ) => Promise<Reply<R>>
    : <R = SessionActionResults[A]>(
        args: SessionActionInput<A>,
        call?: CallOptions,
      ) => Promise<Reply<R>>;

/** One method per action (rules/session-actions#the-actions). */
export type SessionActions = { [A in SessionActionName]: Action<A> };

/** A lane held by this client. With `await using` it ends with its block. */
export interface OpenSession extends SessionActions, AsyncDisposable {
  readonly session_id: string;
  /** The session as it was when it was opened. */
  readonly record: Session;
  state(call?: CallOptions): Promise<Session>;
  cookies: {
    get(call?: CallOptions): Promise<SessionCookie[]>;
    /** Adds or replaces these, keeps the others. */
    put(cookies: SessionCookie[], call?: CallOptions): Promise<unknown>;
    clear(call?: CallOptions): Promise<unknown>;
  };
  /** Requests from `since` on; `next` is the `since` of the next call. */
  network(since?: number, call?: CallOptions): Promise<NetworkLog>;
  files(call?: CallOptions): Promise<SessionFile[]>;
  /** A downloaded file, streamed. */
  file(name: string, call?: CallOptions): Promise<Response>;
  /**
   * For Playwright's `connectOverCDP`: this session's browser, with downloads on this machine's disk, where `saveAs`, `path`
   * and `createReadStream` look for them.
   */
  cdpTransport(): CdpTransport;
  /** Records what people do as steps, or stops. */
  recordInput(on: boolean, call?: CallOptions): Promise<RecordedInput>;
  /** The steps; with `wait_s` once there are others than in `revision`. */
  recordedInput(
    query?: { revision?: number; wait_s?: number },
    call?: CallOptions,
  ): Promise<RecordedInput>;
  saveProfile(name: string, call?: CallOptions): Promise<Profile>;
  /** Ends the session and its browser. */
  close(call?: CallOptions): Promise<void>;
}

export interface OpenOptions extends CallOptions {
  /** How long to keep waiting after 503 (no free lane); default 60,000. */
  patience_ms?: number;
}

const OPEN_MS = 60_000;
/** A profile of hundreds of megabytes is packed and sent. */
const SAVE_MS = 600_000;
const OPEN_PATIENCE_MS = 60_000;
/** On top of an action's own timeout: the hub answers 504 by then. */
const GRACE_MS = 10_000;

/** Sessions (rules/sessions#open-a-session). */
export function sessionCalls(http: Http) {
  const bind = (record: Session): OpenSession => openSession(http, record);
  return {
    ...sessionRecordings(http),
    open: async (
      input: CreateSessionInput = {},
      options: OpenOptions = {},
    ): Promise<OpenSession> => {
      const { patience_ms = OPEN_PATIENCE_MS, signal } = options;
      const call = { timeout_ms: OPEN_MS, ...options, json: input };
      const record = await again({ patience_ms, signal }, isBusy, () =>
        http.call("POST /sessions", call),
      );
      return bind(record);
    },
    /** A session that was opened elsewhere, by its id. */
    get: async (session_id: string, call?: CallOptions): Promise<OpenSession> =>
      bind(await http.call("GET /sessions/{sid}", { ...call, params: { sid: session_id } })),
    list: async (call?: CallOptions): Promise<Session[]> => {
      const all = await everyItem(http, "GET /sessions", "sessions", call);
      return all.filter((one) => one.state === "active");
    },
    /** One page of the records of sessions that have ended, the last one first. */
    ended: async (
      query: { limit?: number; cursor?: string; q?: string; worker_id?: string } = {},
      call?: CallOptions,
    ): Promise<{ sessions: PastSession[]; next_cursor: string | null }> => {
      const asked = { ...call, query: { ...query, status: "ended" as const } };
      const { sessions, next_cursor } = await http.call("GET /sessions", asked);
      return { sessions: sessions.filter((one) => one.state === "ended"), next_cursor };
    },
  };
}

export type SessionCalls = ReturnType<typeof sessionCalls>;

function openSession(http: Http, record: Session): OpenSession {
  const of = { params: { sid: record.session_id } };
  const act =
    (action: SessionActionName, default_s: number) =>
    (args: { timeout_s?: number } = {}, call: CallOptions = {}) => {
      const timeout_ms = (args.timeout_s ?? default_s) * 1_000 + GRACE_MS;
      const json = args as SessionActionInput<typeof action>;
      return http.call(`POST /sessions/{sid}/${action}`, { timeout_ms, ...call, ...of, json });
    };
  const all = Object.entries(ACTION_TIMEOUTS_S) as [SessionActionName, number][];
  const actions = Object.fromEntries(
    all.map(([action, default_s]) => [action, act(action, default_s)]),
  ) as unknown as SessionActions;
  const close = async (call?: CallOptions) => {
    await http.call("DELETE /sessions/{sid}", { ...call, ...of });
  };
  return {
    ...actions,
    session_id: record.session_id,
    record,
    state: (call) => http.call("GET /sessions/{sid}/state", { ...call, ...of }),
    cookies: {
      get: async (call) =>
        (await http.call("GET /sessions/{sid}/cookies", { ...call, ...of })).cookies,
      put: (cookies, call) =>
        http.call("PUT /sessions/{sid}/cookies", { ...call, ...of, json: { cookies } }),
      clear: (call) => http.call("DELETE /sessions/{sid}/cookies", { ...call, ...of }),
    },
    network: (since = 0, call) =>
      http.call("GET /sessions/{sid}/network", { ...call, ...of, query: { since } }),
    files: async (call) => (await http.call("GET /sessions/{sid}/files", { ...call, ...of })).files,
    file: (name, call) =>
      http.open("GET /sessions/{sid}/files/{name}", { ...call, params: { ...of.params, name } }),
    recordInput: (on, call) =>
      http.call("POST /sessions/{sid}/record-input", { ...call, ...of, json: { on } }),
    recordedInput: (query = {}, call) =>
      http.call("GET /sessions/{sid}/record-input", { ...call, ...of, query }),
    cdpTransport: () => cdpTransport(http, record.session_id),
    saveProfile: (name, call) =>
      http.call("POST /sessions/{sid}/profile/save", {
        timeout_ms: SAVE_MS,
        ...call,
        ...of,
        json: { name },
      }),
    close,
    [Symbol.asyncDispose]: async () => {
      await close().catch((err: { status?: number }) => {
        // Already reaped, which is just as good.
        if (err.status !== 404) throw err;
      });
    },
  };
}

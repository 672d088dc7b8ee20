import { ACTION_TIMEOUT_S, ENGINE_ACTION_TIMEOUT_S } from "#shared/protocol/limits.ts";
import { type CdpTransport, cdpTransport } from "./cdp-transport.ts";
import { type CallOptions, everyItem, type Http } from "./http.ts";
import type {
  ActionReply,
  CreateSessionInput,
  NetworkLog,
  Profile,
  Session,
  SessionActionInputs,
  SessionCookie,
  SessionFile,
} from "./types.ts";

type SessionActionName = keyof SessionActionInputs;
type SessionActionInput<A extends SessionActionName> = SessionActionInputs[A];

/** Answer of an action; `R` is the type of its `result`. */
export type Reply<R> = Omit<ActionReply, "result"> & { result: R };

type Action<A extends SessionActionName> =
  Record<never, never> extends SessionActionInput<A>
    ? <R = unknown>(args?: SessionActionInput<A>, call?: CallOptions) => Promise<Reply<R>>
    : <R = unknown>(args: SessionActionInput<A>, call?: CallOptions) => Promise<Reply<R>>;

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
  saveProfile(name: string, call?: CallOptions): Promise<Profile>;
  /** Ends the session and its browser. */
  close(call?: CallOptions): Promise<void>;
}

export interface OpenOptions extends CallOptions {
  /** How long to keep waiting after 503 (no free lane); default 60,000. */
  patience_ms?: number;
}

/** Every action once: the compiler refuses a list that misses one. */
const ACTIONS: Record<SessionActionName, true> = {
  navigate: true,
  click: true,
  fill: true,
  type: true,
  press: true,
  hover: true,
  drag_and_drop: true,
  mouse: true,
  select_option: true,
  check: true,
  uncheck: true,
  scroll: true,
  wait: true,
  evaluate: true,
  set_input_files: true,
  screenshot: true,
  pdf: true,
  content: true,
  text: true,
  markdown: true,
  links: true,
  back: true,
  forward: true,
  reload: true,
  tabs: true,
  tab: true,
  downloads: true,
  read_download: true,
  dialogs: true,
  dialog: true,
  keepalive: true,
  recipe: true,
  ask: true,
  agent: true,
};

const OPEN_MS = 60_000;
const OPEN_PATIENCE_MS = 60_000;
/** The hub's default for an action that names no timeout. */
const actionTimeoutS = (action: string): number =>
  (ENGINE_ACTION_TIMEOUT_S as Record<string, number>)[action] ?? ACTION_TIMEOUT_S.default;
/** On top of an action's own timeout: the hub answers 504 by then. */
const GRACE_MS = 10_000;

/** Sessions (rules/sessions#open-a-session). */
export function sessionCalls(http: Http) {
  const bind = (record: Session): OpenSession => openSession(http, record);
  return {
    open: async (
      input: CreateSessionInput = {},
      options: OpenOptions = {},
    ): Promise<OpenSession> => {
      const { patience_ms = OPEN_PATIENCE_MS, signal } = options;
      const call = { timeout_ms: OPEN_MS, ...options, json: input };
      const record = await http.whileBusy({ patience_ms, signal }, () =>
        http.json<Session>("POST", "/sessions", call),
      );
      return bind(record);
    },
    /** A session that somebody else opened, by its id. */
    get: async (session_id: string, call?: CallOptions): Promise<OpenSession> =>
      bind(await http.json<Session>("GET", `/sessions/${encodeURIComponent(session_id)}`, call)),
    list: (call?: CallOptions) => everyItem<Session>(http, "/sessions", "sessions", call),
  };
}

export type SessionCalls = ReturnType<typeof sessionCalls>;

function openSession(http: Http, record: Session): OpenSession {
  const base = `/sessions/${encodeURIComponent(record.session_id)}`;
  const act =
    (action: string) =>
    (args: { timeout_s?: number } = {}, call: CallOptions = {}) => {
      const timeout_ms = (args.timeout_s ?? actionTimeoutS(action)) * 1_000 + GRACE_MS;
      return http.json<Reply<never>>("POST", `${base}/${action}`, {
        timeout_ms,
        ...call,
        json: args,
      });
    };
  const actions = Object.fromEntries(
    Object.keys(ACTIONS).map((action) => [action, act(action)]),
  ) as unknown as SessionActions;
  const close = async (call?: CallOptions) => {
    await http.json<null>("DELETE", base, call);
  };
  return {
    ...actions,
    session_id: record.session_id,
    record,
    state: (call) => http.json("GET", `${base}/state`, call),
    cookies: {
      get: async (call) =>
        (await http.json<{ cookies: SessionCookie[] }>("GET", `${base}/cookies`, call)).cookies,
      put: (cookies, call) => http.json("PUT", `${base}/cookies`, { ...call, json: { cookies } }),
      clear: (call) => http.json("DELETE", `${base}/cookies`, call),
    },
    network: (since = 0, call) => http.json("GET", `${base}/network?since=${since}`, call),
    files: async (call) =>
      (await http.json<{ files: SessionFile[] }>("GET", `${base}/files`, call)).files,
    file: (name, call) => http.open("GET", `${base}/files/${encodeURIComponent(name)}`, call),
    cdpTransport: () => cdpTransport(http, base),
    saveProfile: (name, call) =>
      http.json("POST", `${base}/profile/save`, { timeout_ms: 600_000, ...call, json: { name } }),
    close,
    [Symbol.asyncDispose]: async () => {
      await close().catch((err: { status?: number }) => {
        // Already reaped, which is just as good.
        if (err.status !== 404) throw err;
      });
    },
  };
}

import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Session } from "#shared/protocol/schema/session.ts";

/**
 * Sessions that were handed to a person (rules/mcp#hand-over-to-a-person). Whoever came and went is remembered while
 * nobody waits for it, and the session is kept from ending by itself meanwhile.
 */
export interface HandOvers {
  /** Watches a session until its link has expired; what was watched of it before is forgotten. */
  begin(http: Http, session: Session, expires_in_ms: number): HandOver;
  /** The last one of a session; null when this client handed it to nobody. */
  of(session_id: string): HandOver | null;
  /** Ends the watching of a session. */
  forget(session_id: string): void;
  /** Ends all watching. */
  close(): void;
}

export interface HandOver {
  /**
   * Nobody came yet; somebody is there; whoever was there has left; the link has expired; the session has ended; nobody
   * looks any more.
   */
  readonly state: "waiting" | "here" | "left" | "expired" | "ended" | "forgotten";
  /** Where the page was when it was last looked at. */
  readonly page: { url: string; title: string };
  /** Resolves with the next look, or at once when there is none any more. */
  looked(): Promise<void>;
}

/** How often the session is looked at. */
const LOOK_MS = 1_000;
const CALL_MS = 10_000;
/** The viewer connects again by itself after a cut; whoever is away for longer has left. */
const GONE_MS = 5_000;
/** How often the session is kept, at most; one with a short idle time more often. */
const KEEP_MS = 60_000;
/** The name of whoever came with a link of that kind (rules/viewer#who-is-watching). */
const BY_LINK = "viewer, take-over";
/** Watched at a time by one client; the oldest is forgotten. */
const MOST = 50;

const isHere = ({ watchers = [] }: Session): boolean =>
  watchers.some(({ kind, name }) => kind === "viewer" && name === BY_LINK);

interface Watched extends HandOver {
  state: HandOver["state"];
  page: HandOver["page"];
  readonly over: AbortController;
}

export function createHandOvers(clock: Clock): HandOvers {
  const all = new Map<string, Watched>();
  const forget = (session_id: string) => {
    const watched = all.get(session_id);
    if (watched === undefined) return;
    // Whoever waits would otherwise wait for a look that does not come.
    if (!isOver(watched)) watched.state = "forgotten";
    watched.over.abort();
    all.delete(session_id);
  };
  return {
    begin: (http, session, expires_in_ms) => {
      forget(session.session_id);
      const [oldest] = all.keys();
      if (all.size >= MOST && oldest !== undefined) forget(oldest);
      let looked = Promise.withResolvers<void>();
      const watched: Watched = {
        state: "waiting",
        page: { url: session.url, title: session.title },
        over: new AbortController(),
        looked: () => (isOver(watched) ? Promise.resolve() : looked.promise),
      };
      all.set(session.session_id, watched);
      const tell = () => {
        const { resolve } = looked;
        looked = Promise.withResolvers();
        resolve();
      };
      void watch(clock, http, session, watched, clock.monotonic() + expires_in_ms, tell);
      return watched;
    },
    forget,
    of: (session_id) => all.get(session_id) ?? null,
    close: () => {
      for (const session_id of [...all.keys()]) forget(session_id);
    },
  };
}

/** Whether its state does not change any more. */
export const isOver = ({ state }: Pick<HandOver, "state">): boolean =>
  state !== "waiting" && state !== "here";

/** The token that the session was handed over with opens nothing any more; each further look would count as a guess. */
const isRefused = (err: FlotillaError): boolean => err.status === 401 || err.status === 403;

async function watch(
  clock: Clock,
  http: Http,
  { session_id, idle_ttl_s }: Session,
  watched: Watched,
  until: number,
  tell: () => void,
): Promise<void> {
  const { signal } = watched.over;
  const of = { params: { sid: session_id }, timeout_ms: CALL_MS, signal };
  const keep_every = Math.min(KEEP_MS, ((idle_ttl_s ?? Number.POSITIVE_INFINITY) * 1_000) / 3);
  let kept_at = Number.NEGATIVE_INFINITY;
  let here_at = Number.NEGATIVE_INFINITY;
  while (!isOver(watched)) {
    try {
      if (clock.monotonic() - kept_at > keep_every) {
        kept_at = clock.monotonic();
        await http.call("POST /sessions/{sid}/keepalive", { ...of, json: {} });
      }
      const now = await http.call("GET /sessions/{sid}", of);
      if (isOver(watched)) break;
      watched.page = { url: now.url, title: now.title };
      if (isHere(now)) {
        here_at = clock.monotonic();
        watched.state = "here";
      } else if (watched.state === "here" && clock.monotonic() - here_at > GONE_MS)
        watched.state = "left";
      else if (watched.state === "waiting" && clock.monotonic() > until) watched.state = "expired";
    } catch (err) {
      if (isOver(watched)) break;
      // A hub that is away for a moment says nothing about the person.
      if (err instanceof FlotillaError && err.status === 404) watched.state = "ended";
      else if (err instanceof FlotillaError && isRefused(err)) watched.state = "forgotten";
      else if (clock.monotonic() > until) watched.state = "expired";
    }
    tell();
    if (!isOver(watched)) await clock.sleep(Math.min(LOOK_MS, keep_every), signal);
  }
  tell();
}

import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type {
  HubAssignJob,
  HubCloseSession,
  HubOpenSession,
  HubSessionCall,
  WorkerToHub,
} from "#shared/protocol/link/messages.ts";
import type { ProfileRef } from "#shared/protocol/schema/profile.ts";
import { type ActionFailure, failureOf } from "../actions/failure.ts";
import { openFirst } from "../actions/navigate.ts";
import { describeNetError, shortUrl } from "../fetch/net-errors.ts";
import { holdTo, narrowedBy } from "../fetch/way-out.ts";
import type { LaneHold, LanePool } from "../lanes/pool.ts";
import type { LaneBrowser } from "../lanes/types.ts";
import { ProfileError } from "../profile/cache.ts";
import type { SeededProfile } from "../profile/profiles.ts";
import { answerCall, type CallDeps } from "./calls.ts";
import type { SessionLink } from "./link.ts";
import { Live, type LiveDeps, SessionEnd } from "./live.ts";

export interface DeskDeps extends CallDeps {
  clock: Clock;
  log: Log;
  pool: Pick<LanePool, "hold">;
  live: LiveDeps;
  /** Why no session may be opened now, or null. */
  reasonToRefuse(): string | null;
  /** Puts a profile into a new browser (rules/profiles#profile-of-a-run). */
  profileFor(link: SessionLink, profile: ProfileRef, signal: AbortSignal): SeededProfile;
}

/** What the hub requests of sessions (rules/sessions#open-a-session, rules/session-actions#calls-and-answers). */
export interface SessionDesk {
  open(link: SessionLink, message: HubOpenSession): void;
  close(message: HubCloseSession): void;
  call(link: SessionLink, message: HubSessionCall): void;
  /** The session of an accepted job: a new one, or the live one it runs in. */
  forJob(assignment: HubAssignJob, hold: LaneHold): Live;
  /** Lends a live session to a job (attach_to_job): returns the hold to run it with, or the reason why not. */
  borrow(assignment: HubAssignJob): LaneHold | string;
  /** Ends every session on this worker. */
  stopAll(why: Error): void;
  /** Number of sessions whose lane is not yet being released. */
  count(): number;
  /** Resolves when there is none and every lane has been released. */
  idle(): Promise<void>;
}

/**
 * A page that does not answer must be reported before the hub stops waiting (60 s, including the start of a
 * browser).
 */
const OPEN_PAGE_MS = 30_000;

const MAX_REASON = 3_000;

interface Opened {
  live: Live;
  releasing: boolean;
  done: Promise<void>;
}

export function createSessionDesk(deps: DeskDeps): SessionDesk {
  const opened = new Map<string, Opened>();

  /** Runs a session from start to end: its lane is already taken, and is released whatever happens. */
  const keep = async (link: SessionLink, message: HubOpenSession, live: Live, entry: Opened) => {
    const { session_id, lease_token } = message;
    const linkLost = () => live.end(new SessionEnd("the link to the hub was lost"));
    link.signal.addEventListener("abort", linkLost, { once: true });
    if (link.signal.aborted) linkLost();
    try {
      const refusal = await openPage(deps, link, message, live);
      if (refusal) {
        link.send({ type: "SessionRefused", session_id, lease_token, ...refusal });
        live.end(new SessionEnd(refusal.reason));
        return;
      }
      const place = await live.place();
      if (live.signal.aborted) throw live.signal.reason;
      const { url = "about:blank", title = "" } = place ?? {};
      link.send({ type: "SessionOpened", session_id, lease_token, url, title });
      deps.log.info({ session_id, lane_idx: live.lane_idx }, "session opened");
      await live.ended;
      link.send({
        type: "SessionEnded",
        session_id,
        lease_token: live.lease_token,
        reason: errorMessage(live.signal.reason).slice(0, 1_000),
      });
    } catch (err) {
      const reason = errorMessage(err).slice(0, 4_096);
      // Another lane would not help with a profile.
      const kind = err instanceof ProfileError ? "page" : "lane";
      link.send({ type: "SessionRefused", session_id, lease_token, kind, reason });
      live.end(new SessionEnd(reason));
    } finally {
      link.signal.removeEventListener("abort", linkLost);
      deps.log.info(
        { session_id, lane_idx: live.lane_idx, reason: errorMessage(live.signal.reason) },
        "session ended",
      );
      entry.releasing = true;
      await live.hold.release();
    }
  };

  const liveOf = (session_id: string | null): Live | null => {
    const live = session_id === null ? undefined : deps.live.sessions.get(session_id);
    return live instanceof Live ? live : null;
  };
  return {
    open: (link, message) => {
      const { session_id, lease_token, lane_idx } = message;
      if (opened.has(session_id)) return;
      const hold = deps.reasonToRefuse() ?? takeLane(deps.pool, lane_idx, session_id);
      if (typeof hold === "string") {
        deps.log.warn({ session_id, lane_idx, lease_token, reason: hold }, "session refused");
        link.send({ type: "SessionRefused", session_id, lease_token, kind: "lane", reason: hold });
        return;
      }
      deps.log.info({ session_id, lane_idx, lease_token }, "session accepted");
      const guard = narrowedBy(message.egress, deps.live.guard);
      const live = new Live(
        { ...deps.live, guard },
        {
          session_id,
          lane_idx,
          lease_token,
          job_id: null,
          hold,
          viewport: message.viewport,
          dialog_policy: message.dialog_policy,
        },
      );
      const entry: Opened = { live, releasing: false, done: Promise.resolve() };
      opened.set(session_id, entry);
      entry.done = keep(link, message, live, entry)
        .catch((err) => deps.log.error({ session_id, err }, "lane of a session not released"))
        .finally(() => opened.delete(session_id));
    },
    close: ({ session_id, lease_token, reason }) => {
      const live = deps.live.sessions.get(session_id);
      if (!live || live.lease_token !== lease_token) {
        deps.log.debug({ session_id }, "stale close of a session ignored");
        return;
      }
      if (live instanceof Live) live.end(new SessionEnd(reason));
    },
    call: (link, message) => {
      const live = deps.live.sessions.get(message.session_id);
      if (!(live instanceof Live)) {
        link.send(gone(message));
        return;
      }
      void answerCall(live, link, message, deps).then((reply) => link.send(reply));
    },
    forJob: ({ job_id, session_id, lease_token, extras }, hold) => {
      const live = liveOf(extras.in_session);
      return (
        live ??
        new Live(deps.live, { session_id, lane_idx: hold.lane_idx, lease_token, job_id, hold })
      );
    },
    borrow: ({ job_id, lease_token, lane_idx, extras }) => {
      const live = liveOf(extras.in_session);
      if (live?.lane_idx !== lane_idx) return "the session is not, or no longer, on this lane";
      const refusal = live.lend(job_id, lease_token);
      if (refusal !== null) return refusal;
      return {
        ...live.hold,
        browser: async () => {
          const browser = live.browser();
          if (!browser) throw new Error("the session has no browser");
          return browser;
        },
        release: async () => live.giveBack(),
      };
    },
    stopAll: (why) => {
      for (const { live } of opened.values()) live.end(why);
    },
    count: () => [...opened.values()].filter((entry) => !entry.releasing).length,
    idle: async () => {
      while (opened.size > 0) await Promise.all([...opened.values()].map((entry) => entry.done));
    },
  };
}

const gone = ({ call_id }: HubSessionCall): WorkerToHub => ({
  type: "SessionReply",
  call_id,
  ok: false,
  result: null,
  blob: null,
  kind: "gone",
  error: { name: "Error", message: "the session is not on this worker" },
  place: null,
  ms: 0,
});

/**
 * The browser, Playwright on it, and the first page. @returns why the page cannot be opened. @throws when the lane
 * is at fault.
 */
async function openPage(
  deps: DeskDeps,
  link: SessionLink,
  message: HubOpenSession,
  live: Live,
): Promise<{ kind: "page"; reason: string } | null> {
  const { url, headless, profile } = message;
  const seeded = profile && deps.profileFor(link, profile, live.signal);
  const stopped = live.ended.then(() => Promise.reject(live.signal.reason));
  stopped.catch(() => {});
  const work = async () => {
    const browser = await live.hold.browser({ headless, ...(seeded && { seed: seeded.seed }) });
    await narrow(deps, message, live, browser);
    await live.attach(browser, { alone: true });
    await seeded?.settle(browser, (level, text, fields) =>
      deps.log[level]({ session_id: live.session_id, ...fields }, text),
    );
    const pages = await live.pages();
    if (url === null || url === "about:blank") return null;
    const narrowed = message.egress === null ? null : live.guard;
    const reason = (await deps.refusal(url)) ?? (await narrowed?.checkUrl(url)) ?? null;
    if (reason !== null)
      return { kind: "page" as const, reason: `refused to open ${url}: ${reason}` };
    try {
      await orDialog(live, openFirst(pages.active(), url, OPEN_PAGE_MS));
      return null;
    } catch (err) {
      return { kind: "page" as const, reason: whyNotOpened(live, url, failureOf(err)) };
    }
  };
  return Promise.race([work(), stopped]);
}

/** The gate applies this until the lane changes hands, even when the browser is restarted. */
async function narrow(
  { log }: DeskDeps,
  message: HubOpenSession,
  { guard }: Live,
  browser: LaneBrowser,
): Promise<void> {
  const { session_id, egress, proxy } = message;
  if (egress === null && proxy === null) return;
  const onRefused = (place: string, reason: string) =>
    log.debug({ session_id, place, reason }, "refused to connect to a place");
  await holdTo(browser, { judge: guard, onRefused }, message);
}

/** A page that opens a dialog before it has loaded counts as open: the session shows the dialog. */
async function orDialog(live: Live, opened: Promise<void>): Promise<void> {
  const target_id = live.activeTarget();
  if (target_id === null) return opened;
  const over = new AbortController();
  opened.catch(() => {});
  await Promise.race([opened, live.dialogs.nextWaiting(target_id, over.signal)]).finally(() =>
    over.abort(),
  );
}

function whyNotOpened(live: Live, url: string, { kind, message }: ActionFailure): string {
  if (kind === "timeout")
    return `could not open ${shortUrl(url)}: no answer within ${OPEN_PAGE_MS / 1_000} s: check that the worker can reach it`;
  const net_error = /net::ERR_\w+/.exec(message)?.[0];
  const failed_url = live.network.lastFailure()?.url ?? url;
  return net_error === undefined
    ? `could not open ${shortUrl(url)}: ${message.slice(0, MAX_REASON)}`
    : describeNetError(net_error, failed_url, live.browser()?.gate ?? null);
}

/** Takes the lane, or says why it is not available. */
function takeLane(pool: DeskDeps["pool"], lane_idx: number, session_id: string): LaneHold | string {
  try {
    return (
      pool.hold(lane_idx, { job_id: null, session_id }) ?? `lane ${lane_idx} is not warm and free`
    );
  } catch (err) {
    return errorMessage(err);
  }
}

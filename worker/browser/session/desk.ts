import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { parseTraceparent } from "#shared/kit/tracing/trace-context.ts";
import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import type {
  HubAssignJob,
  HubCloseSession,
  HubOpenSession,
  HubSessionCall,
  SessionReply,
  WorkerToHub,
} from "#shared/protocol/link/messages.ts";
import type { HubRunEvents, HubViewerEvents } from "#shared/protocol/link/told.ts";
import { narrowedBy } from "../fetch/way-out.ts";
import type { LaneHold, LanePool } from "../lanes/pool.ts";
import { answerCall, type CallDeps, isKnownCall } from "./calls.ts";
import { type KeepDeps, keepSession } from "./keep-session.ts";
import type { SessionLink } from "./link.ts";
import { Live, SessionEnd } from "./live.ts";
import type { LiveDeps } from "./live-deps.ts";
import { shownBrowser } from "./shown-browser.ts";

export interface DeskDeps extends CallDeps, KeepDeps {
  clock: Clock;
  pool: Pick<LanePool, "hold">;
  live: LiveDeps;
  /** Records a session from now on to its end, if that is asked for. */
  record(live: Live, link: SessionLink, message: HubOpenSession): void;
  /** Why no session may be opened now, or null. */
  reasonToRefuse(): string | null;
  /** Where the spans of actions go; absent where no collector is named. */
  tracer?: Tracer | undefined;
  /** Counts actions as they are answered. */
  actionEnded?: ((action: string, ok: boolean, ms: number) => void) | undefined;
}

/** What the hub requests of sessions (rules/sessions#open-a-session, rules/session-actions#calls-and-answers). */
export interface SessionDesk {
  open(link: SessionLink, message: HubOpenSession): void;
  close(message: HubCloseSession): void;
  call(link: SessionLink, message: HubSessionCall): void;
  /** What viewers or the hub did, for whoever records the session; nobody, where nothing is recorded. */
  told(message: HubViewerEvents | HubRunEvents): void;
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

interface Opened {
  live: Live;
  releasing: boolean;
  done: Promise<void>;
}

export function createSessionDesk(deps: DeskDeps): SessionDesk {
  const opened = new Map<string, Opened>();

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
          viewport: isSized(message) ? null : message.viewport,
          dialog_policy: message.dialog_policy,
          shown: shownBrowser(deps.live, message),
        },
      );
      if (message.trace) deps.traces.ofSession(live);
      deps.record(live, link, message);
      const entry: Opened = { live, releasing: false, done: Promise.resolve() };
      opened.set(session_id, entry);
      const onReleasing = () => {
        entry.releasing = true;
      };
      entry.done = keepSession(deps, link, message, live, onReleasing)
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
      void answerCounted(live, link, message, deps).then((reply) => link.send(reply));
    },
    told: ({ session_id, events }) => tellAll(liveOf(session_id), events),
    forJob: (assignment, hold) =>
      liveOf(assignment.extras.in_session) ?? liveForJob(deps.live, assignment, hold),
    borrow: ({ job_id, lease_token, lane_idx, extras }) => {
      const live = liveOf(extras.in_session);
      if (live?.lane_idx !== lane_idx) return "the session is not, or no longer, on this lane";
      return live.lend(job_id, lease_token) ?? borrowed(live);
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

/** Its pages get their size with what else they see of the browser. */
const isSized = ({ browser_options }: HubOpenSession): boolean =>
  browser_options?.viewport != null || browser_options?.device != null;

const liveForJob = (
  deps: LiveDeps,
  { job_id, session_id, lease_token, extras }: HubAssignJob,
  hold: LaneHold,
): Live =>
  new Live(deps, {
    session_id,
    lane_idx: hold.lane_idx,
    lease_token,
    job_id,
    hold,
    shown: shownBrowser(deps, extras),
  });

async function answerCounted(
  live: Live,
  link: SessionLink,
  message: HubSessionCall,
  deps: CallDeps & Pick<DeskDeps, "actionEnded" | "tracer">,
): Promise<SessionReply> {
  const { action, traceparent, session_id } = message;
  const parent = parseTraceparent(traceparent);
  // Previews and the worker's own errands are nobody's call.
  const span = parent && deps.tracer?.start(`action ${action}`, { parent });
  span?.set({ "flotilla.session.id": session_id, "flotilla.lane": live.lane_idx });
  const reply = await answerCall(live, link, message, deps);
  span?.end(reply.ok ? null : `the action failed: ${reply.kind}`);
  deps.actionEnded?.(isKnownCall(action) ? action : "other", reply.ok, reply.ms);
  return reply;
}

function tellAll(live: Live | null, events: (HubViewerEvents | HubRunEvents)["events"]): void {
  for (const event of events) live?.tell(event);
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

/** The hold of a live session's lane, for a job that runs in it. */
const borrowed = (live: Live): LaneHold => ({
  ...live.hold,
  browser: async () => {
    const browser = live.browser();
    if (!browser) throw new Error("the session has no browser");
    return browser;
  },
  release: async () => live.giveBack(),
});

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

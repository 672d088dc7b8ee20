import { AppError } from "#shared/kit/errors.ts";
import type { EgressOption } from "#shared/protocol/egress.ts";
import type { SessionReply } from "#shared/protocol/link/messages.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { BlockedReport } from "#shared/protocol/schema/block.ts";
import type { Dialog } from "#shared/protocol/schema/dialog.ts";
import type { ReplayReport } from "#shared/protocol/schema/replay.ts";
import type { LanePlace } from "../links/parts.ts";
import type { HeldLane, WorkerLink } from "../links/worker-link.ts";
import type { Watcher, Watchers } from "./watchers.ts";

/**
 * A session this hub owns because the worker's link is here (rules/sessions#end-of-a-session). Times are of the
 * monotonic clock, except `created_at`. `job`: a running job's own, which ends with it. `kept`: left open by a
 * keep_session job. `sdk`: opened by POST /sessions. `call`: of a one-shot call, which ends with its answer; nobody but
 * that call knows of it.
 */
export interface HubSession {
  readonly session_id: string;
  kind: "job" | "kept" | "sdk" | "call";
  readonly link: WorkerLink;
  /** Replaced when a job attaches to the session: the lane then has a new lease. */
  held: HeldLane;
  /** The lease under which the worker knows it: that of `held`, except while a job is being attached. */
  worker_token: number;
  readonly lane_idx: number;
  job_id: string | null;
  readonly headless: boolean;
  readonly egress: EgressOption | null;
  /** With its login masked. */
  readonly proxy: ProxyOption | null;
  /** How its replay goes, as its worker last reported it; null: it shows the web. */
  replay: ReplayReport | null;
  /** What was not requested, as its worker last reported it; null: it blocks nothing. */
  blocked: BlockedReport | null;
  /** Its worker makes a Playwright trace of it. */
  readonly trace: boolean;
  /** The bodies that its pages receive are kept. */
  readonly capture: boolean;
  /** Epoch ms. */
  readonly created_at: number;
  last_active_at: number;
  /** Null while a job owns it. */
  idle_ttl_ms: number | null;
  /** The idle TTL with which it outlives the job that owns it; null: it ends with the job. */
  keep_ms: number | null;
  /** Ignored while a job owns it, because the job has its own limits. */
  expires_at: number;
  url: string;
  title: string;
  tabs: number;
  /** As its worker last reported them. */
  dialogs: Dialog[];
  /** Calls in flight, counted for MAX_ACTIONS_AT_ONCE. */
  calls: number;
  /** Actions that somebody asked for. */
  actions: number;
  /** How many of these its record has. */
  counted: number;
  /** Who is at its viewers now, and which programs drive it. */
  readonly watchers: Watchers;
  /** Its WebDriver client, once that has been heard of. */
  webdriver: Watcher | null;
  /** As the audit log calls who opened it; null for a job's. */
  readonly opened_by: string | null;
  /** For how long it waits for the last CDP client, whose connection was lost; null: it does not end with its clients. */
  readonly reconnect_ms: number | null;
  readonly cdp: CdpPresence;
  /** Aborts once, with a `SessionOver`, when the session ends: viewers and CDP clients close by it. */
  readonly ended: AbortSignal;
  /** Aborts `ended`. Only `dropSession` calls it. */
  readonly over: (why: SessionOver) => void;
}

/** Whether it is one by itself: a job's session is part of the job, and nobody learns of a call's. */
export const standsAlone = (kind: HubSession["kind"]): kind is "kept" | "sdk" =>
  kind !== "job" && kind !== "call";

/** Which CDP clients are there. */
interface CdpPresence {
  clients: number;
  /** Whether there has been one. */
  came: boolean;
  /** When the last one left, or the session began; of the monotonic clock. */
  left_at: number;
}

/** Why a session ended; `message` is what the viewer's page shows. */
export class SessionOver extends Error {
  /** Its worker went away: calls in flight are 502, not 404 (rules/session-actions#failed-actions). */
  readonly lost: boolean;
  /** Its worker is linked to another hub, where it may go on. */
  readonly moved: boolean;
  constructor(message: string, { lost = false, moved = false } = {}) {
    super(message);
    this.name = "SessionOver";
    this.lost = lost;
    this.moved = moved;
  }
}

/** Not 404, which is for good: the hub that had the session is gone, but its worker may still bring it to this one. */
export const comingBack = (): AppError =>
  new AppError("unavailable", "the hub restarted, and the worker is on its way back", {
    headers: { "Retry-After": "1" },
  });

/** A call that its worker has not answered yet, in `ctx.session_calls` by its id. */
export interface PendingCall {
  readonly link: WorkerLink;
  answer(reply: SessionReply): void;
}

/** A POST /sessions call that waits for a lane; `ctx.lanes_wanted` holds them in the order they came. */
export interface LaneWanted {
  readonly since: number;
  readonly session_id: string;
  readonly worker_id: string | null;
  /** The workers that qualify; null: any. */
  readonly fits: ((link: WorkerLink) => boolean) | null;
  /** False when nobody waits any longer: the lane goes back. */
  take(place: LanePlace<null>): boolean;
}

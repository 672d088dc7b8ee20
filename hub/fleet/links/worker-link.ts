import type { EventRow } from "#hub/platform/db/rows.ts";
import type { LaneLease } from "#hub/platform/stores/leases.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { hostId } from "#shared/kit/host-id.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";
import type { HubToWorker, Registration } from "#shared/protocol/link/messages.ts";
import { isCounted, Outbox } from "#shared/protocol/link/outbox.ts";
import type { UpdateReport } from "#shared/protocol/schema/updates.ts";
import type { Capabilities, HostLoad, Lane, WorkerStatus } from "#shared/protocol/schema/worker.ts";
import type { LeftLink } from "./left-link.ts";
import type { Candidate } from "./schedule.ts";

/** What a link needs of its socket. */
export interface LinkSocket {
  /** As in Bun: 0 when the message was dropped, -1 when it waits in the buffer, else the bytes sent. */
  send(text: string): number;
  close(code: number, reason: string): void;
}

/** What a worker says to HubAssignJob (`accepted`) or HubOpenSession (`opened`); `page`: the lane took it, its page failed. */
export type AssignAnswer =
  | { kind: "accepted" }
  | { kind: "opened"; url: string; title: string }
  | { kind: "refused"; reason: string; page?: boolean }
  | { kind: "closed" };

/** A lane leased on this link, to a job or to an independent session. */
export interface HeldLane {
  readonly lease: LaneLease;
  /** The worker has taken the lane for it: from now on `warm` means that the run, or the session, is over. */
  accepted: boolean;
  /** The job, or the independent session, has ended: nothing this lane still says about it counts. */
  done: boolean;
  /** The last stage written to the job's row. */
  stage: string | null;
  /** Lines of the job's log that the database has not stored yet. */
  readonly unlogged: Pick<EventRow, "ts" | "type" | "data">[];
  /** Heartbeats in a row that showed the lane free although it is leased. */
  idle_beats: number;
  /** Lines of the job's log that the previous hub may have stored, with their counts; they are not stored again. */
  stored_lines?: Map<string, number>;
  /**
   * Taken up from a hub that was killed, and no message came under its lease yet: a message about its lane was meant
   * for that hub, and may be older than this run.
   */
  unheard?: boolean;
  /** Takes the worker's answer to the assignment. */
  answer: (answer: AssignAnswer) => void;
  /** Settles when the assignment was accepted or taken back. */
  settled: Promise<void>;
}

/** A lane leased to a job. */
export type JobLane = HeldLane & { readonly lease: LaneLease & { job_id: string } };

/** A lane leased just now; the worker does not know of it yet. */
export function newHeld<L extends LaneLease>(
  lease: L,
): {
  held: HeldLane & { readonly lease: L };
  settle: () => void;
} {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
  const held = {
    lease,
    accepted: false,
    done: false,
    stage: null,
    unlogged: [],
    idle_beats: 0,
    answer: () => {},
    settled,
  };
  return { held, settle };
}

/** The worker mentions the run: what it says about the lane from now on is newer than the run. */
export function heardOf<H extends HeldLane | undefined>(held: H): H {
  if (held) held.unheard = false;
  return held;
}

export const isJobLane = (held: HeldLane): held is JobLane => held.lease.job_id !== null;

/** How the socket of a link was lost, while its worker is waited for. */
export interface Cut {
  /** Epoch ms. */
  readonly at: number;
  readonly reason: string;
  /** Aborts when the worker is back, or the hub stops waiting for it. */
  readonly over: AbortController;
}

/**
 * One registered worker: what it said about itself, and the lanes this hub has leased on it. The link outlives its
 * socket for SVC_LINK_GRACE_S: what is sent meanwhile waits for the next socket.
 */
export class WorkerLink implements Candidate {
  readonly worker_id: string;
  readonly instance_id: string;
  readonly address: string;
  readonly hostname: string;
  /** It runs on this hub's own host; false also when that is unknown. */
  readonly on_hub_host: boolean;
  readonly version: string;
  /** It updates when ordered to; a worker of an earlier version updates whenever its hub has another version. */
  readonly waits_for_order: boolean;
  /** The last order it was given, as JSON. */
  told_order = "";
  /** The last list it was given of what no lane may open. */
  told_places = "";
  readonly capabilities: Capabilities;
  /** Jobs whose captures it was given to replay: it may read these. */
  readonly replays = new Set<string>();
  readonly connected_at: number;
  /** Bearer token of the worker's uploads; valid as long as the link. */
  readonly upload_token: string;
  readonly lanes = new Map<number, Lane>();
  readonly held = new Map<number, HeldLane>();
  /** Jobs that gave their lane back while their captures wait for a store, by lease token; some have ended since. */
  readonly uploading = new Map<number, JobLane>();
  /** Leases given back while the store did not answer, to be released when it does. */
  readonly unreleased = new Set<LaneLease>();
  /** Sessions for which the store may hold a lease that nobody knows of, because its answer was lost. */
  readonly unsure = new Set<string>();
  /** Lanes for which a request to the lease store is in flight. */
  asked = 0;
  /** Its lanes have changed since this was last announced to the other hubs. */
  untold = false;
  load: HostLoad;
  profiles: string[];
  update: UpdateReport | null;
  status: WorkerStatus = "standby";
  /** Epoch ms, for display. */
  last_heartbeat_at: number;
  /** The same by the monotonic clock, which decides whether the worker is alive. */
  heard_at: number;
  /** Set once the worker knows that it is registered; until then it takes no job. */
  ready = false;
  closed = false;
  /** Set while there is no socket and the hub waits for the worker. */
  cut: Cut | null = null;
  /** Messages of the worker received so far, over however many sockets. */
  received = 0;
  /** What the worker may not have received; null for a version that cannot go on with a link. */
  readonly outbox: Outbox | null;
  /** How many of those were handled, from the first on: the worker need not keep them. */
  handled_count = 0;
  /** This hub is stopping, and the next one goes on with the link: nothing more that it says counts here. */
  left = false;
  /** The one run of `dropLink`. */
  dropped: Promise<void> | undefined;
  /** Resolves when every message received so far was handled. */
  handled: Promise<void> = Promise.resolve();
  #socket: LinkSocket;
  /** Milliseconds without a socket, not counting the current cut. */
  #cut_ms = 0;
  #cut_since = 0;
  /** How much of that has been reported. */
  told_cut_ms = 0;

  /** @param before the link that this process had with a hub that is gone. */
  constructor(
    socket: LinkSocket,
    hello: Registration,
    capabilities: Capabilities,
    clock: Clock,
    before: LeftLink | null = null,
  ) {
    this.#socket = socket;
    this.upload_token = before?.upload_token ?? newToken();
    this.received = this.handled_count = before?.received ?? 0;
    this.worker_id = hello.worker_id;
    this.instance_id = hello.instance_id;
    this.address = hello.address;
    this.hostname = hello.hostname;
    this.on_hub_host = typeof hello.host_id === "string" && hello.host_id === hostId();
    this.version = hello.version;
    this.waits_for_order = hello.waits_for_order ?? false;
    this.capabilities = capabilities;
    this.connected_at = this.last_heartbeat_at = clock.now();
    this.heard_at = clock.monotonic();
    this.load = hello.load;
    this.profiles = hello.profiles;
    this.update = hello.update ?? null;
    this.outbox = hello.resume === undefined ? null : new Outbox(before?.sent);
    for (const lane of hello.lanes) this.lanes.set(lane.lane_idx, lane);
  }

  /** It has sent a heartbeat. */
  heard(clock: Clock): void {
    this.last_heartbeat_at = clock.now();
    this.heard_at = clock.monotonic();
  }

  get in_flight(): number {
    return this.held.size + this.asked;
  }
  get max_concurrent(): number {
    return this.capabilities.max_concurrent;
  }
  get lane_novnc_urls(): string[] {
    return this.capabilities.lane_novnc_urls;
  }
  get novnc_url(): string | null {
    return this.capabilities.novnc_url;
  }
  get disk_pct(): number {
    return this.load.disk_pct;
  }

  /** Whether it can be given new work. */
  get open(): boolean {
    return this.ready && !this.closed && !this.left && this.cut === null;
  }

  /**
   * False when the message will not arrive: the link is closed, or its buffer is full and no other socket can continue
   * it.
   */
  send(message: HubToWorker): boolean {
    if (this.closed) return false;
    const text = JSON.stringify(message);
    const kept = isCounted(message.type) ? this.outbox : null;
    kept?.add(text, this.cut === null);
    if (this.cut !== null) return kept !== null;
    if (this.#socket.send(text) !== 0) return true;
    // A gap in what the worker hears: only another socket closes it.
    if (kept) this.#socket.close(LINK_CLOSE.liveness, "the worker does not read its link");
    return kept !== null;
  }

  isOn(socket: LinkSocket): boolean {
    return this.#socket === socket;
  }

  closeSocket(code: number, reason: string): void {
    if (this.cut === null) this.#socket.close(code, reason);
  }

  /** Its socket is gone, and the hub waits for the worker. */
  lose(clock: Clock, reason: string): Cut {
    this.#cut_since = clock.monotonic();
    this.cut = { at: clock.now(), reason, over: new AbortController() };
    return this.cut;
  }

  /** Whether the registration resumes exactly this link, and no message to the worker is missing. */
  canResume({ instance_id, resume }: Registration): boolean {
    if (!resume || this.closed || !this.ready || instance_id !== this.instance_id) return false;
    return (
      sameSecret(resume.upload_token, this.upload_token) &&
      this.outbox?.canResume(resume.received) === true
    );
  }

  /** Goes on with another socket: sends `welcome`, then everything the worker has not received. */
  resume(clock: Clock, socket: LinkSocket, welcome: HubToWorker, received: number): void {
    const before = this.cut === null ? this.#socket : null;
    this.#cut_ms = this.cutMs(clock);
    this.cut?.over.abort();
    this.cut = null;
    this.#socket = socket;
    before?.close(LINK_CLOSE.replaced, "replaced by a newer link");
    socket.send(JSON.stringify(welcome));
    for (const text of this.outbox?.resume(received) ?? []) socket.send(text);
    this.heard(clock);
  }

  /** How long the link was without a socket in all. */
  cutMs(clock: Clock): number {
    return this.#cut_ms + (this.cut === null ? 0 : clock.monotonic() - this.#cut_since);
  }

  /** Lanes that are warm and not leased, in order. */
  freeLanes(): number[] {
    const free: number[] = [];
    for (const lane of this.lanes.values())
      if (lane.state === "warm" && !this.held.has(lane.lane_idx)) free.push(lane.lane_idx);
    return free;
  }

  /** How many of them have no request in flight. */
  freeCount(): number {
    let free = -this.asked;
    for (const lane of this.lanes.values())
      if (lane.state === "warm" && !this.held.has(lane.lane_idx)) free += 1;
    return Math.max(0, free);
  }

  /** The lane of this assignment, if this link still has it; it may have been given back while the job uploads. */
  heldBy(job_id: string, lease_token: number): JobLane | undefined {
    const late = this.uploading.get(lease_token);
    if (late?.lease.job_id === job_id) return late;
    for (const held of this.held.values())
      if (held.lease.token === lease_token && held.lease.job_id === job_id && isJobLane(held))
        return held;
    return undefined;
  }

  /** Every job of this link, including those that have given their lane back and are still uploading. */
  jobLanes(): JobLane[] {
    return [...new Set([...this.held.values(), ...this.uploading.values()])].filter(isJobLane);
  }

  /** The held lane of this session, if this link still has it under that lease. */
  heldFor(session_id: string, lease_token: number): HeldLane | undefined {
    for (const held of this.held.values())
      if (held.lease.token === lease_token && held.lease.session_id === session_id) return held;
    return undefined;
  }
}

import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { type Loop, startLoop } from "#shared/kit/loop.ts";
import { isCut, LINK_CLOSE, WORKER_STOPPING_REASON } from "#shared/protocol/link/close.ts";
import type {
  HubRegistered,
  HubToWorker,
  LaneHeld,
  Registration,
  WorkerHeartbeat,
} from "#shared/protocol/link/messages.ts";
import { reconnectDelay, refusalAdvice, STABLE_MS } from "./backoff.ts";
import { LinkConnection, type LinkEnd } from "./connection.ts";
import type { LinkSession, Transmit } from "./link-session.ts";
import { StandingLink } from "./standing-link.ts";

/**
 * Deadline of each half of the handshake; shorter for a link that should be resumed, because its hub does not wait
 * for long.
 */
const HANDSHAKE_MS = { first: 10_000, again: 3_000 };
/** How often to dial a hub that keeps a link. */
const COME_BACK_MS = 500;
/** How long work continues here while the hub is down: an upgrade that migrates a large database is over by then. */
const HUB_AWAY_MS = 600_000;
/**
 * A hub that answers heartbeats and missed this many in a row (120 s, as long as it waits for us) is gone, even if
 * TCP disagrees.
 */
const MISSED_ACKS = 8;

export interface LinkDeps {
  /** Address of this worker's link. */
  url: string;
  clock: Clock;
  log: Log;
  random: () => number;
  /** Built again for every dial and every heartbeat. */
  registration(): Promise<Registration>;
  heartbeat(): Promise<WorkerHeartbeat>;
  /** What runs on the standing link, for a hub that was restarted. */
  holds(): LaneHeld[];
  /** The handshake of a new link is done. */
  onRegistered(session: LinkSession): void;
  /** The link continues over another socket; the hub may be another process, with another version. */
  onResumed(session: LinkSession, hub: HubRegistered): void;
  onMessage(session: LinkSession, message: HubToWorker): void;
}

export interface WorkerLink {
  /** The registered link, which may be between sockets; null while there is none. */
  session(): LinkSession | null;
  /** When the last frame came from the hub on the standing socket, by the monotonic clock; null while there is none. */
  last_received_at(): number | null;
  /** Closes with 1001 and stops dialling. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Keeps a link to the hub (rules/worker-link#link): dials, registers, sends heartbeats, and dials again with jittered
 * backoff when the link is lost. A link whose socket was cut stands for as long as the hub keeps it: if it comes back
 * in time, all work continues. A refusal is reported to the operator and retried every 30 seconds.
 */
export function startLink(deps: LinkDeps): WorkerLink {
  const stopping = new AbortController();
  let current: LinkConnection | null = null;
  let standing: StandingLink | null = null;
  /** Time of the current cut, by the monotonic clock. */
  let cut_at = 0;
  let give_up_at = 0;

  const giveUp = (why: string) => {
    if (!standing) return;
    deps.log.warn({ reason: why }, "link given up");
    standing.end();
    standing = null;
  };
  /** The hub continues the standing link, or has created a new one. */
  const linkOf = (hub: HubRegistered, transmit: Transmit): StandingLink | null => {
    if (hub.resumed) {
      if (standing?.resume(transmit, hub.resumed.received)) {
        deps.onResumed(standing, hub);
        return standing;
      }
      giveUp("the hub lacks messages that are no longer kept");
      return null;
    }
    giveUp("the hub has not kept it");
    standing = new StandingLink(hub, transmit);
    deps.onRegistered(standing);
    return standing;
  };
  const resumeOf = (link: StandingLink | null): Registration["resume"] =>
    link && {
      upload_token: link.hub.upload_token,
      received: link.received,
      acknowledged: link.acknowledged,
      holds: deps.holds(),
    };

  const linkOnce = async (): Promise<LinkEnd> => {
    const registration = { ...(await deps.registration()), resume: resumeOf(standing) };
    if (stopping.signal.aborted) return { code: LINK_CLOSE.going_away, reason: "", up_ms: null };
    const connection = new LinkConnection({
      url: deps.url,
      clock: deps.clock,
      log: deps.log,
      registration,
      handshake_ms: standing ? HANDSHAKE_MS.again : HANDSHAKE_MS.first,
      onRegistered: (hub, transmit) => {
        const link = linkOf(hub, transmit);
        if (!link) return null;
        const resumed = hub.resumed ? true : undefined;
        deps.log.info({ url: deps.url, resumed }, "link registered");
        heartbeats.begin(link);
        return link;
      },
      onMessage: (session, message) => {
        heartbeats.heard(session, message);
        deps.onMessage(session, message);
      },
    });
    const heartbeats = heartbeatsOf(deps, connection);
    current = connection;
    const end = await connection.ended;
    await heartbeats.stop();
    return end;
  };
  /** What becomes of the standing link when its socket, or a dial to restore it, has ended. */
  const afterEnd = (end: LinkEnd) => {
    if (!standing) return;
    if (standing.grace_ms === 0 || !isCut(end.code, end.reason))
      return giveUp(end.reason || `closed with ${end.code}`);
    const now = deps.clock.monotonic();
    const first = !standing.is_cut;
    if (first) cut_at = now;
    // While nobody listens, no hub counts the grace period either: the next hub counts it from its start.
    if (first || isHubDown(end))
      give_up_at = Math.min(now + standing.grace_ms, cut_at + HUB_AWAY_MS);
    if (first) void waitOut(standing, standing.cut());
  };
  const waitOut = async (link: StandingLink, back: AbortSignal) => {
    while (!back.aborted) {
      const left_ms = give_up_at - deps.clock.monotonic();
      if (left_ms > 0) await deps.clock.sleep(left_ms, back);
      else if (standing === link)
        return giveUp(`the hub was not reached for ${Math.round((give_up_at - cut_at) / 1_000)} s`);
      else return;
    }
  };

  const keepLinked = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures += 1) {
      const end = await linkOnce().catch(
        (err): LinkEnd => ({ code: 1006, reason: errorMessage(err), up_ms: null }),
      );
      if (stopping.signal.aborted) break;
      afterEnd(end);
      if ((end.up_ms ?? 0) >= STABLE_MS) failures = 0;
      const delay_ms = reconnectDelay(failures, end.code, deps.random);
      const retry_in_ms = standing ? Math.min(delay_ms, COME_BACK_MS) : delay_ms;
      tellEnd(deps.log, end, retry_in_ms);
      await deps.clock.sleep(retry_in_ms, stopping.signal);
    }
    giveUp("the worker is stopping");
  };
  const done = keepLinked();

  return {
    session: () => standing,
    last_received_at: () => (current?.session ? current.last_received_at : null),
    stop: async () => {
      stopping.abort();
      current?.close(LINK_CLOSE.going_away, WORKER_STOPPING_REASON);
      await done;
    },
  };
}

/** Whether the hub's process is gone: it said so, or its address refuses the dial instead of leaving it unanswered. */
const isHubDown = ({ code, up_ms }: LinkEnd): boolean =>
  code === LINK_CLOSE.restarting || (up_ms === null && code !== LINK_CLOSE.liveness);

/** The heartbeat loop of one link; also notices a hub that no longer answers. */
function heartbeatsOf(deps: LinkDeps, connection: LinkConnection) {
  let loop: Loop | null = null;
  let acknowledges = false;
  let unanswered = 0;
  return {
    begin: (session: StandingLink) => {
      loop = startLoop({
        name: "heartbeat",
        everyMs: session.hub.heartbeat_interval_ms,
        clock: deps.clock,
        log: deps.log,
        pass: async () => {
          // Counted, not timed: a stepped wall clock or a stalled worker must not cost the running jobs.
          if (acknowledges && unanswered >= MISSED_ACKS)
            return connection.close(LINK_CLOSE.liveness, `${unanswered} heartbeats unanswered`);
          const beat = await deps.heartbeat();
          if (session.send({ ...beat, received: session.received })) unanswered += 1;
        },
      });
    },
    heard: (session: StandingLink, message: HubToWorker) => {
      unanswered = 0;
      if (message.type !== "HubHeartbeatAck") return;
      acknowledges = true;
      if (typeof message.received === "number") session.acknowledge(message.received);
    },
    stop: async () => {
      await loop?.stop();
    },
  };
}

function tellEnd(log: Log, end: LinkEnd, retry_in_ms: number): void {
  const fields = { code: end.code, reason: end.reason, retry_in_ms };
  const advice = refusalAdvice(end.code);
  if (advice !== null) log.error(fields, `hub refused the link (${end.reason}): ${advice}`);
  else if (end.up_ms === null) log.warn(fields, "hub not reached");
  else log.warn({ ...fields, up_ms: end.up_ms }, "link lost");
}

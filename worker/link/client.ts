import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { type Loop, startLoop } from "#shared/kit/loop.ts";
import { LINK_CLOSE, WORKER_STOPPING_REASON } from "#shared/protocol/link/close.ts";
import type { HubToWorker, Registration, WorkerHeartbeat } from "#shared/protocol/link/messages.ts";
import { reconnectDelay, refusalAdvice, STABLE_MS } from "./backoff.ts";
import { LinkConnection, type LinkEnd } from "./connection.ts";
import { createLinkKeeper, type LinkKeeperDeps } from "./link-keeper.ts";
import type { LinkSession } from "./link-session.ts";
import type { StandingLink } from "./standing-link.ts";

/**
 * Deadline of each half of the handshake; shorter for a link that should be resumed, because its hub does not wait
 * for long.
 */
const HANDSHAKE_MS = { first: 10_000, again: 3_000 };
/** How often to dial a hub that keeps a link. */
const COME_BACK_MS = 500;
/**
 * A hub that answers heartbeats and missed this many in a row (120 s, as long as it waits for us) is gone, even if
 * TCP disagrees.
 */
const MISSED_ACKS = 8;

export interface LinkDeps extends LinkKeeperDeps {
  /** Address of this worker's link. */
  url: string;
  random: () => number;
  /** Built again for every dial and every heartbeat. */
  registration(): Promise<Registration>;
  heartbeat(): Promise<WorkerHeartbeat>;
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
  const keeper = createLinkKeeper(deps);

  const linkOnce = async (): Promise<LinkEnd> => {
    const registration = { ...(await deps.registration()), resume: keeper.resume() };
    if (stopping.signal.aborted) return { code: LINK_CLOSE.going_away, reason: "", up_ms: null };
    const connection = new LinkConnection({
      url: deps.url,
      clock: deps.clock,
      log: deps.log,
      registration,
      handshake_ms: keeper.standing() ? HANDSHAKE_MS.again : HANDSHAKE_MS.first,
      onRegistered: (hub, transmit) => {
        const link = keeper.take(hub, transmit);
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

  const keepLinked = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures += 1) {
      const end = await linkOnce().catch(
        (err): LinkEnd => ({ code: 1006, reason: errorMessage(err), up_ms: null }),
      );
      if (stopping.signal.aborted) break;
      keeper.afterEnd(end);
      if ((end.up_ms ?? 0) >= STABLE_MS) failures = 0;
      const delay_ms = reconnectDelay(failures, end.code, deps.random);
      const retry_in_ms = keeper.standing() ? Math.min(delay_ms, COME_BACK_MS) : delay_ms;
      tellEnd(deps.log, end, retry_in_ms);
      await deps.clock.sleep(retry_in_ms, stopping.signal);
    }
    keeper.giveUp("the worker is stopping");
  };
  const done = keepLinked();

  return {
    session: keeper.standing,
    last_received_at: () => (current?.session ? current.last_received_at : null),
    stop: async () => {
      stopping.abort();
      current?.close(LINK_CLOSE.going_away, WORKER_STOPPING_REASON);
      await done;
    },
  };
}

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
  else if (end.up_ms === null) log.warn(fields, "could not reach the hub");
  else log.warn({ ...fields, up_ms: end.up_ms }, "link lost");
}

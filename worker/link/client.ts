import type { Clock } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import {
  type HubToWorker,
  LINK_CLOSE,
  type Registration,
  type WorkerHeartbeat,
} from "#shared/link/messages.ts";
import type { Log } from "#shared/log.ts";
import { type Loop, startLoop } from "#shared/loop.ts";
import { reconnectDelay, refusalAdvice, STABLE_MS } from "./backoff.ts";
import { LinkConnection, type LinkEnd, type LinkSession } from "./connection.ts";

/** A hub that answers heartbeats and missed this many in a row (120 s, as long as it waits for us) is gone, whatever TCP says. */
const MISSED_ACKS = 8;

export interface LinkDeps {
  /** Address of this worker's link. */
  url: string;
  clock: Clock;
  log: Log;
  random: () => number;
  /** Built anew for every dial and every heartbeat. */
  registration(): Promise<Registration>;
  heartbeat(): Promise<WorkerHeartbeat>;
  /** The handshake is done. */
  onRegistered(session: LinkSession): void;
  onMessage(session: LinkSession, message: HubToWorker): void;
}

export interface WorkerLink {
  /** The registered link, or null while there is none. */
  session(): LinkSession | null;
  /** Wall clock of the last frame from the hub on the standing link, null while there is none. */
  last_received_at(): number | null;
  /** Closes with 1001 and dials no more. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Keeps a link to the hub (fleet spec §6.2): dials, registers, sends heartbeats, and dials again with jittered
 * backoff when the link is lost. A refusal is told to the operator and retried every half a minute.
 */
export function startLink(deps: LinkDeps): WorkerLink {
  const stopping = new AbortController();
  let current: LinkConnection | null = null;

  const linkOnce = async (): Promise<LinkEnd> => {
    const registration = await deps.registration();
    if (stopping.signal.aborted) return { code: LINK_CLOSE.going_away, reason: "", up_ms: null };
    const connection = new LinkConnection({
      url: deps.url,
      clock: deps.clock,
      log: deps.log,
      registration,
      onRegistered: (session) => {
        deps.log.info({ url: deps.url }, "link registered");
        deps.onRegistered(session);
        heartbeats.begin(session);
      },
      onMessage: (session, message) => {
        heartbeats.heard(message);
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
      if (stopping.signal.aborted) return;
      if ((end.up_ms ?? 0) >= STABLE_MS) failures = 0;
      const retry_in_ms = reconnectDelay(failures, end.code, deps.random);
      tellEnd(deps.log, end, retry_in_ms);
      await deps.clock.sleep(retry_in_ms, stopping.signal);
    }
  };
  const done = keepLinked();

  return {
    session: () => current?.session ?? null,
    last_received_at: () => (current?.session ? current.last_received_at : null),
    stop: async () => {
      stopping.abort();
      current?.close(LINK_CLOSE.going_away, "worker is stopping");
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
    begin: (session: LinkSession) => {
      loop = startLoop({
        name: "heartbeat",
        everyMs: session.hub.heartbeat_interval_ms,
        clock: deps.clock,
        log: deps.log,
        pass: async () => {
          // Counted, not timed: a stepped wall clock or a stalled worker must not cost the running jobs.
          if (acknowledges && unanswered >= MISSED_ACKS)
            return connection.close(LINK_CLOSE.liveness, `${unanswered} heartbeats unanswered`);
          if (session.send(await deps.heartbeat())) unanswered += 1;
        },
      });
    },
    heard: (message: HubToWorker) => {
      unanswered = 0;
      acknowledges ||= message.type === "HubHeartbeatAck";
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

import { sameSecret } from "#shared/kit/secret.ts";
import { BAD_SECRET_REASON, LINK_CLOSE } from "#shared/protocol/link/close.ts";
import { decoderOf } from "#shared/protocol/link/codec.ts";
import {
  type Registration,
  type WorkerHeartbeat,
  WorkerToHub,
} from "#shared/protocol/link/messages.ts";
import { isCounted } from "#shared/protocol/link/outbox.ts";
import type { FleetContext } from "../context.ts";
import { laneChanged, reconcileLanes } from "./lanes.ts";
import type { LossCause } from "./loss.ts";
import { tellPlaces } from "./places.ts";
import { keepWorker } from "./registration.ts";
import { dropLink, orderOf, registerWorker, socketGone } from "./registry.ts";
import { heardOf, type LinkSocket, type WorkerLink } from "./worker-link.ts";

/** Frames received and not handled yet; a worker that gets further ahead of the database is cut off. */
const MAX_BACKLOG_BYTES = 64 * 1024 * 1024;

/** The hub acknowledges messages whenever this many bytes have come, and with every heartbeat. */
const CONFIRM_CHARS = 1024 * 1024;

const decode = decoderOf<WorkerToHub>(WorkerToHub);

export interface LinkSession {
  receive(frame: string | Uint8Array): void;
  /** The socket is gone. */
  closed(code: number, reason: string): void;
}

/**
 * One socket of WS /workers/{worker_id}/link (rules/worker-link#link), from its first frame to its end. Frames are
 * handled strictly in order, so that a result is stored before its lane is offered again; replies of sessions are
 * handled at once.
 */
export function openLinkSession(
  ctx: FleetContext,
  path_worker_id: string,
  socket: LinkSocket,
): LinkSession {
  const log = ctx.log.child({ worker_id: path_worker_id });
  let link: WorkerLink | null = null;
  /** The link from the moment this socket belongs to it; its registration may still be in progress. */
  let bound: WorkerLink | null = null;
  let backlog = 0;
  let unconfirmed = 0;
  let over = false;
  /** The hub ended the socket: what is still queued does not count. After a close by the worker it does. */
  let refused = false;
  let handled: Promise<void> = Promise.resolve();
  ctx.handshakes.set(socket, ctx.clock.monotonic());

  const failed = (err: unknown) => log.error({ err }, "link message failed");
  const refuse = (code: number, reason: string, why: LossCause = "broken") => {
    refused = true;
    if (over) return;
    over = true;
    ctx.handshakes.delete(socket);
    if (link?.isOn(socket)) void dropLink(ctx, link, code, reason, why).catch(failed);
    else socket.close(code, reason);
  };
  const gone = (code: number, reason: string) => {
    if (over) return;
    over = true;
    ctx.handshakes.delete(socket);
    if (link) socketGone(ctx, link, socket, code, reason);
  };

  const register = async (hello: Registration): Promise<void> => {
    const no = checkRegistration(ctx, path_worker_id, hello);
    if (no) return refuse(no.code, no.reason);
    const registered = await registerWorker(ctx, socket, hello, (its) => {
      bound = its;
    });
    ctx.handshakes.delete(socket);
    if (!registered) {
      over = refused = true;
      return;
    }
    link = registered;
    link.handled = handled;
    if (over) socketGone(ctx, link, socket, 1006, "closed while registering");
  };
  /** So that the worker need not keep what has arrived. */
  const count = (type: string) => {
    if (bound?.outbox && isCounted(type)) bound.received += 1;
  };
  /** What was only received is lost with this process; the worker need not repeat what was handled. */
  const confirm = (type: string, chars: number) => {
    if (!link?.outbox || !isCounted(type)) return;
    link.handled_count += 1;
    unconfirmed += chars;
    if (unconfirmed < CONFIRM_CHARS) return;
    unconfirmed = 0;
    link.send({ type: "HubHeartbeatAck", received: link.handled_count });
  };
  const handle = (message: WorkerToHub): Promise<void> | void => {
    if (refused || (over && !link)) return;
    if (link) return dispatch(ctx, link, message, refuse);
    if (message.type === "registration") return register(message);
    refuse(LINK_CLOSE.bad_message, "registration comes first");
  };

  return {
    receive: (frame) => {
      // What a socket says after another has replaced it comes again on the new one.
      if (over || (bound && (bound.left || !bound.isOn(socket)))) return;
      if (typeof frame !== "string") return refuse(LINK_CLOSE.bad_message, "frames are text");
      const decoded = decode(frame);
      if (decoded.kind === "bad")
        return refuse(LINK_CLOSE.bad_message, closeReason(decoded.reason));
      const type = decoded.kind === "unknown" ? decoded.type : decoded.message.type;
      count(type);
      const confirmInTurn = () => {
        handled = handled.then(() => confirm(type, frame.length));
        if (link) link.handled = handled;
      };
      if (decoded.kind === "unknown") {
        log.warn({ type: type.slice(0, 100) }, "unknown link message skipped");
        return confirmInTurn();
      }
      const { message } = decoded;
      // Liveness is when the worker spoke, not when the database had time for it.
      if (link && message.type === "WorkerHeartbeat") link.heard(ctx.clock);
      // A caller waits for it in real time, and it changes nothing stored: it need not wait for the database's writes.
      if (link && message.type === "SessionReply") {
        ctx.hooks.sessionReply(link, message);
        return confirmInTurn();
      }
      backlog += frame.length;
      if (backlog > MAX_BACKLOG_BYTES)
        return refuse(LINK_CLOSE.too_big, "too many unhandled messages");
      handled = handled
        .then(() => handle(message))
        .catch(failed)
        .then(() => {
          backlog -= frame.length;
          confirm(type, frame.length);
        });
      if (link) link.handled = handled;
    },
    closed: gone,
  };
}

/** A close reason holds at most 123 bytes. */
const closeReason = (text: string) => text.replace(/[^\x20-\x7e]/g, "?").slice(0, 120);

function checkRegistration(ctx: FleetContext, path_worker_id: string, hello: Registration) {
  const secret = ctx.config.worker_secret;
  if (!sameSecret(hello.secret ?? "", secret ?? "")) {
    ctx.log.warn({ worker_id: path_worker_id, address: hello.address }, "bad worker secret");
    return { code: LINK_CLOSE.bad_secret, reason: BAD_SECRET_REASON };
  }
  if (hello.worker_id !== path_worker_id)
    return { code: LINK_CLOSE.bad_message, reason: "worker_id is not the one of the path" };
  return null;
}

async function dispatch(
  ctx: FleetContext,
  link: WorkerLink,
  message: WorkerToHub,
  end: (code: number, reason: string, why?: LossCause) => void,
): Promise<void> {
  switch (message.type) {
    case "registration":
      return end(LINK_CLOSE.bad_message, "registered already");
    case "WorkerHeartbeat":
      return heartbeat(ctx, link, message, end);
    case "LaneChanged":
      return laneChanged(ctx, link, message.lane);
    case "JobAccepted":
    case "JobRefused": {
      const held = heardOf(link.heldBy(message.job_id, message.lease_token));
      if (message.type === "JobRefused") held?.answer({ kind: "refused", reason: message.reason });
      else if (held && !held.done) {
        held.accepted = true;
        held.answer({ kind: "accepted" });
      } else
        link.send({ ...assignmentOf(message), type: "HubCancelJob", reason: "the lease is stale" });
      return;
    }
    case "JobLog": {
      const held = heardOf(link.heldBy(message.job_id, message.lease_token));
      if (held && !held.done) await ctx.hooks.jobLog(held, message);
      return;
    }
    case "RunReady": {
      const held = heardOf(link.heldBy(message.job_id, message.lease_token));
      if (held && !held.done) ctx.hooks.scriptReady(held);
      return;
    }
    case "JobUploading": {
      const held = heardOf(link.heldBy(message.job_id, message.lease_token));
      if (!held || held.done) return;
      link.uploading.set(held.lease.token, held);
      return ctx.hooks.laneLeft(held);
    }
    case "result": {
      const held = heardOf(link.heldBy(message.job_id, message.lease_token));
      const accepted = held && !held.done ? await ctx.hooks.jobResult(held, message) : false;
      link.send({ ...assignmentOf(message), type: "HubResultAck", accepted });
      return;
    }
    case "SessionOpened":
    case "SessionRefused":
    case "SessionEnded":
      return ctx.hooks.sessionMessage(link, message);
    case "SessionReply":
      return ctx.hooks.sessionReply(link, message);
    default:
      message satisfies never;
  }
}

const assignmentOf = ({ job_id, lease_token }: { job_id: string; lease_token: number }) => ({
  job_id,
  lease_token,
});

async function heartbeat(
  ctx: FleetContext,
  link: WorkerLink,
  beat: WorkerHeartbeat,
  end: (code: number, reason: string, why?: LossCause) => void,
): Promise<void> {
  link.load = beat.load;
  link.profiles = beat.profiles;
  link.update = beat.update ?? null;
  if (typeof beat.received === "number") link.outbox?.acknowledge(beat.received);
  const confirmed = link.outbox && { received: link.handled_count };
  link.send({ type: "HubHeartbeatAck", ...confirmed, ...orderOf(ctx, link) });
  await tellPlaces(ctx, link);
  await reconcileLanes(ctx, link, beat.lanes);
  if (!(await keepWorker(ctx, link))) end(LINK_CLOSE.replaced, "linked to another hub", "moved");
}

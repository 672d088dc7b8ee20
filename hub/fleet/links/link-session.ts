import { judgeWorkerSecret, waitReason } from "#hub/platform/http/worker-guesses.ts";
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
import type { LinkEndContext, RegisterContext } from "./link-contexts.ts";
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

/** What has come from the worker is counted and confirmed, so that the worker need not keep it. */
function createReceipts() {
  let unconfirmed = 0;
  return {
    count: (bound: WorkerLink | null, type: string) => {
      if (bound?.outbox && isCounted(type)) bound.received += 1;
    },
    /** What was only received is lost with this process; the worker need not repeat what was handled. */
    confirm: (link: WorkerLink | null, type: string, chars: number) => {
      if (!link?.outbox || !isCounted(type)) return;
      link.handled_count += 1;
      unconfirmed += chars;
      if (unconfirmed < CONFIRM_CHARS) return;
      unconfirmed = 0;
      link.send({ type: "HubHeartbeatAck", received: link.handled_count });
    },
  };
}

/** Frames are handled one after the other; those that wait for their turn take memory. */
function createFrameQueue(failed: (err: unknown) => void) {
  let chars = 0;
  let handled: Promise<void> = Promise.resolve();
  return {
    get handled() {
      return handled;
    },
    /** Whether the frame is one more than may wait. */
    isOverfull: (frame: string) => chars + frame.length > MAX_BACKLOG_BYTES,
    add: (frame: string, work: () => Promise<void> | void, after: () => void) => {
      chars += frame.length;
      handled = handled
        .then(work)
        .catch(failed)
        .then(() => {
          chars -= frame.length;
          after();
        });
    },
    /** What needs no work, in its turn all the same. */
    addDone: (after: () => void) => {
      handled = handled.then(after);
    },
  };
}

interface SocketState {
  link: WorkerLink | null;
  /** The link from the moment this socket belongs to it; its registration may still be in progress. */
  bound: WorkerLink | null;
  over: boolean;
  /** The hub ended the socket: what is still queued does not count. After a close by the worker it does. */
  refused: boolean;
}

/** How a socket ends: by the hub, or by the worker. */
function endsOf(
  ctx: LinkEndContext & Pick<FleetContext, "cluster" | "handshakes" | "stopping">,
  socket: LinkSocket,
  state: SocketState,
  failed: (err: unknown) => void,
) {
  return {
    refuse: (code: number, reason: string, why: LossCause = "broken") => {
      state.refused = true;
      if (state.over) return;
      state.over = true;
      ctx.handshakes.delete(socket);
      const { link } = state;
      if (link?.isOn(socket)) void dropLink(ctx, link, code, reason, why).catch(failed);
      else socket.close(code, reason);
    },
    gone: (code: number, reason: string) => {
      if (state.over) return;
      state.over = true;
      ctx.handshakes.delete(socket);
      if (state.link) socketGone(ctx, state.link, socket, code, reason);
    },
  };
}

/**
 * One socket of WS /workers/{worker_id}/link (rules/worker-link#link), from its first frame to its end. Frames are
 * handled strictly in order, so that a result is stored before its lane is offered again; replies of sessions are
 * handled at once. `address`: of the connection.
 */
export function openLinkSession(
  ctx: RegisterContext & Pick<FleetContext, "handshakes" | "stopping" | "throttle">,
  path_worker_id: string,
  socket: LinkSocket,
  address: string | undefined,
): LinkSession {
  const log = ctx.log.child({ worker_id: path_worker_id });
  const state: SocketState = { link: null, bound: null, over: false, refused: false };
  const failed = (err: unknown) => log.error({ err }, "link message failed");
  const receipts = createReceipts();
  const queue = createFrameQueue(failed);
  ctx.handshakes.set(socket, ctx.clock.monotonic());

  const { refuse, gone } = endsOf(ctx, socket, state, failed);

  const register = async (hello: Registration): Promise<void> => {
    const no = await checkRegistration(ctx, path_worker_id, hello, address);
    if (state.over) return;
    if (no) return refuse(no.code, no.reason);
    const registered = await registerWorker(ctx, socket, hello, (its) => {
      state.bound = its;
    });
    ctx.handshakes.delete(socket);
    if (!registered) {
      state.over = state.refused = true;
      return;
    }
    state.link = registered;
    registered.handled = queue.handled;
    if (state.over) socketGone(ctx, registered, socket, 1006, "closed while registering");
  };
  const handle = (message: WorkerToHub): Promise<void> | void => {
    const { link } = state;
    if (state.refused || (state.over && !link)) return;
    if (link) return dispatch(ctx, link, message, refuse);
    if (message.type === "registration") return register(message);
    refuse(LINK_CLOSE.bad_message, "registration comes first");
  };

  return {
    receive: (frame) => {
      // What a socket says after another has replaced it comes again on the new one.
      const { bound, link } = state;
      if (state.over || (bound && (bound.left || !bound.isOn(socket)))) return;
      if (typeof frame !== "string") return refuse(LINK_CLOSE.bad_message, "frames are text");
      const decoded = decode(frame);
      if (decoded.kind === "bad")
        return refuse(LINK_CLOSE.bad_message, closeReason(decoded.reason));
      const type = decoded.kind === "unknown" ? decoded.type : decoded.message.type;
      receipts.count(bound, type);
      const confirm = () => receipts.confirm(state.link, type, frame.length);
      const confirmInTurn = () => {
        queue.addDone(confirm);
        if (link) link.handled = queue.handled;
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
      if (queue.isOverfull(frame)) return refuse(LINK_CLOSE.too_big, "too many unhandled messages");
      queue.add(frame, () => handle(message), confirm);
      if (link) link.handled = queue.handled;
    },
    closed: gone,
  };
}

/** A close reason holds at most 123 bytes. */
const closeReason = (text: string) => text.replace(/[^\x20-\x7e]/g, "?").slice(0, 120);

async function checkRegistration(
  ctx: Pick<FleetContext, "throttle" | "config" | "log">,
  path_worker_id: string,
  hello: Registration,
  address: string | undefined,
) {
  const { throttle, config } = ctx;
  const judges = { secrets: config, throttle };
  const { right, wait_ms } = await judgeWorkerSecret(hello.secret ?? "", () => address, judges);
  if (!right) {
    const reason = wait_ms > 0 ? waitReason(wait_ms) : BAD_SECRET_REASON;
    ctx.log.warn({ worker_id: path_worker_id, address: hello.address }, reason);
    return { code: LINK_CLOSE.bad_secret, reason };
  }
  if (hello.worker_id !== path_worker_id)
    return { code: LINK_CLOSE.bad_message, reason: "worker_id is not the one of the path" };
  return null;
}

async function dispatch(
  ctx: RegisterContext,
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
  ctx: RegisterContext,
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

import type { CdpConnection, CdpSession, Protocol } from "./connection.ts";

/** A command, its answer or an event, as it passes over a second connection to the browser. */
export interface Message {
  id?: number;
  sessionId?: string;
  method?: string;
  params?: object;
  result?: object;
}

/** The frames and workers of pages, for a client that steers the browser over a connection of its own. */
export interface ChildTargets {
  /** @returns the answer to a command that Chromium must not see; null for any other. */
  answer(command: Message): Message | null;
  /** @returns what the client may hear of a message of the browser; null when it is not the client's. */
  hear(message: Message): Message | null;
  stop(): void;
}

interface Child {
  /** The client's session that it belongs to. */
  parent: string;
  /** Null until the browser has attached the client to it. */
  session_id: string | null;
}

/** Ids of commands that the client did not send: it counts from 1 and does not come this far. */
const FIRST_ID = 2 ** 30;

const isChild = ({ parent, target }: CdpSession): boolean =>
  parent?.target != null && (target?.type === "iframe" || target?.type === "worker");

/**
 * Answers `Target.setAutoAttach` on a page, a frame or a worker in Chromium's stead, and attaches the client to each
 * target that the connection `pipe` is attached to below it. When Chromium 156 itself gets this command, it detaches
 * everybody from the frames whose document has just arrived, and those never load (of 298 jobs with a frame in another
 * process, 12 on a busy machine). `transmit` sends a command to the browser over the client's connection.
 */
export function followChildren(
  pipe: CdpConnection,
  transmit: (command: Message) => void,
): ChildTargets {
  /** Target ids by session of the client. */
  const targets = new Map<string, string>();
  /** The client's sessions that want to hear of children, by their target. */
  const parents = new Map<string, string>();
  /** By target. */
  const children = new Map<string, Child>();
  /** Targets that the client is being attached to, by the command's id. */
  const asked = new Map<number, string>();
  let next_id = FIRST_ID;

  const attach = ({ target, parent }: CdpSession): void => {
    const wanted = parents.get(parent?.target?.targetId ?? "");
    const target_id = target?.targetId;
    if (wanted === undefined || target_id === undefined || children.has(target_id)) return;
    children.set(target_id, { parent: wanted, session_id: null });
    asked.set(next_id, target_id);
    const params = { targetId: target_id, flatten: true };
    transmit({ id: next_id, method: "Target.attachToTarget", params });
    next_id += 1;
  };
  const onSession = (session: CdpSession): void => {
    if (isChild(session)) attach(session);
  };
  pipe.onSession.add(onSession);

  const onAttached = (message: Message): Message => {
    const { sessionId, targetInfo } = message.params as Protocol.Target.AttachedToTargetEvent;
    targets.set(sessionId, targetInfo.targetId);
    const child = children.get(targetInfo.targetId);
    if (!child || child.session_id !== null || message.sessionId !== undefined) return message;
    child.session_id = sessionId;
    return { ...message, sessionId: child.parent };
  };
  const onDetached = (message: Message): Message => {
    const { sessionId } = message.params as Protocol.Target.DetachedFromTargetEvent;
    const target_id = targets.get(sessionId) ?? "";
    targets.delete(sessionId);
    if (parents.get(target_id) === sessionId) parents.delete(target_id);
    const child = children.get(target_id);
    if (child?.session_id !== sessionId) return message;
    children.delete(target_id);
    return { ...message, sessionId: child.parent };
  };
  /** The target may be gone by now; the client has not heard of it. */
  const onAnswer = (message: Message, target_id: string): void => {
    asked.delete(message.id ?? 0);
    if (message.result === undefined) children.delete(target_id);
  };

  return {
    answer: ({ id, sessionId, method }) => {
      if (method !== "Target.setAutoAttach" || sessionId === undefined) return null;
      const target_id = targets.get(sessionId);
      if (target_id === undefined) return null;
      parents.set(target_id, sessionId);
      for (const session of pipe.sessions.values()) onSession(session);
      return { id, sessionId, result: {} };
    },
    hear: (message) => {
      const target_id = asked.get(message.id ?? 0);
      if (target_id !== undefined) {
        onAnswer(message, target_id);
        return null;
      }
      if (message.method === "Target.attachedToTarget") return onAttached(message);
      if (message.method === "Target.detachedFromTarget") return onDetached(message);
      return message;
    },
    stop: () => void pipe.onSession.delete(onSession),
  };
}

import type {
  ActionReply,
  Session,
  SessionActionInput,
  SessionActionName,
} from "#shared/protocol/schema/session.ts";
import { call, seg } from "../../lib/http.ts";

/** The longest time a page may take, plus a little for the way. */
const TIMEOUT_MS = 40_000;

/** POST /sessions/{sid}/<action> (rules/session-actions#calls-and-answers): its result. Counts as activity of the session. */
export async function act<A extends SessionActionName, T = unknown>(
  { session_id }: Pick<Session, "session_id">,
  action: A,
  json: SessionActionInput<A>,
): Promise<T> {
  const path = `/sessions/${seg(session_id)}/${action}`;
  const reply = await call<ActionReply>("POST", path, { json, timeout_ms: TIMEOUT_MS });
  return reply.result as T;
}

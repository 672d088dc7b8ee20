import type {
  SessionActionInput,
  SessionActionName,
  SessionActionResult,
} from "#shared/protocol/actions/session-actions.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { call } from "../../lib/http.ts";

/** The longest time a page may take, plus a little for the way. */
const TIMEOUT_MS = 40_000;

/** POST /sessions/{sid}/<action> (rules/session-actions#calls-and-answers): its result. Counts as activity of the session. */
export async function act<A extends SessionActionName>(
  { session_id }: Pick<Session, "session_id">,
  action: A,
  json: SessionActionInput<A>,
): Promise<SessionActionResult<A>> {
  // Which action it is stays open here, and with it the type of its arguments.
  const given = { params: { sid: session_id }, json, timeout_ms: TIMEOUT_MS };
  const reply = await call<`POST /sessions/{sid}/${SessionActionName}`>(
    `POST /sessions/{sid}/${action}`,
    given as never,
  );
  return reply.result as SessionActionResult<A>;
}

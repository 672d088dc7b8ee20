import type { UseQueryResult } from "@tanstack/react-query";
import type { Session } from "#shared/protocol/schema/session.ts";
import { ApiError, seg } from "../../lib/http.ts";
import { useGet } from "../../lib/query.ts";

/** Only its worker knows where a session's page is now; the stream of changes does not say. */
const EVERY_MS = 2_000;

/**
 * State of a session; looking at it is no activity. It is asked for no more once it has ended
 * (rules/sessions#ended-sessions-are-404).
 */
export const useSession = (sid: string): UseQueryResult<Session> =>
  useGet<Session>(
    `/sessions/${seg(sid)}/state`,
    {},
    { refetchInterval: ({ state }) => (isGone(state.error) ? false : EVERY_MS) },
  );

const isGone = (err: unknown): boolean => err instanceof ApiError && err.status === 404;

export const hasEnded = (query: UseQueryResult<Session>): boolean => isGone(query.error);

import type { UseQueryResult } from "@tanstack/react-query";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useGet } from "../../lib/query.ts";

/** Only its worker knows where a session's page is now; the stream of changes does not say. */
const EVERY_MS = 2_000;

/**
 * State of a session; reading it is not activity. It is not read again once the session has ended
 * (rules/sessions#ended-sessions-are-404).
 */
export const useSession = (sid: string): UseQueryResult<Session> =>
  useGet(
    "/sessions/{sid}/state",
    { params: { sid } },
    { refetchInterval: ({ state }) => (isGone(state.error) ? false : EVERY_MS) },
  );

const isGone = (err: unknown): boolean => err instanceof FlotillaError && err.status === 404;

export const hasEnded = (query: UseQueryResult<Session>): boolean => isGone(query.error);

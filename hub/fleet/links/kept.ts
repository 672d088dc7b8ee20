import { createHash } from "node:crypto";
import type { FleetContext } from "../context.ts";
import type { KeptLink, KeptSession } from "./parts.ts";

/**
 * What the next hub must know to take up what a worker runs: with several hubs in the shared store, else in files next
 * to the database. Jobs are in the database already.
 */

/** In the shared store; longer than all hubs of a fleet are down for an upgrade. */
const EXPIRY_MS = 900_000;
const LINKS = "kept-link:";
const SESSIONS = "kept-session:";

type Keeps = Pick<FleetContext, "kept">;

export const tokenHash = (upload_token: string): string =>
  createHash("sha256").update(upload_token).digest("hex");

export const rememberLink = ({ kept }: Keeps, link: KeptLink): Promise<void> =>
  kept.set(`${LINKS}${link.worker_id}`, link, EXPIRY_MS);
export const keptLink = ({ kept }: Keeps, worker_id: string): Promise<KeptLink | null> =>
  kept.get<KeptLink>(`${LINKS}${worker_id}`);
const forgetLink = ({ kept }: Keeps, worker_id: string): Promise<void> =>
  kept.delete(`${LINKS}${worker_id}`);
/** Its worker was heard from. */
export const renewLink = ({ kept }: Keeps, worker_id: string): Promise<boolean> =>
  kept.touch(`${LINKS}${worker_id}`, EXPIRY_MS);
export const keptLinks = async ({ kept }: Keeps): Promise<KeptLink[]> =>
  (await kept.list<KeptLink>(LINKS)).map(({ value }) => value);

export const rememberSession = ({ kept }: Keeps, session: KeptSession): Promise<void> =>
  kept.set(`${SESSIONS}${session.session_id}`, session, EXPIRY_MS);
export const keptSession = ({ kept }: Keeps, session_id: string): Promise<KeptSession | null> =>
  kept.get<KeptSession>(`${SESSIONS}${session_id}`);
export const forgetSession = ({ kept }: Keeps, session_id: string): Promise<void> =>
  kept.delete(`${SESSIONS}${session_id}`);
export const renewSession = ({ kept }: Keeps, session_id: string): Promise<boolean> =>
  kept.touch(`${SESSIONS}${session_id}`, EXPIRY_MS);
export const keptSessions = async ({ kept }: Keeps): Promise<KeptSession[]> =>
  (await kept.list<KeptSession>(SESSIONS)).map(({ value }) => value);

/** The worker has a new process, or is no longer awaited: nothing of the previous process can be taken up. */
export async function forgetWorker(ctx: Keeps, worker_id: string): Promise<void> {
  await forgetLink(ctx, worker_id);
  for (const session of await keptSessions(ctx))
    if (session.worker_id === worker_id) await forgetSession(ctx, session.session_id);
}

import type { CdpSession } from "../cdp/connection.ts";
import type { BodyRead } from "./read-body.ts";
import type { RequestEntry } from "./requests.ts";
import { dropBody } from "./spool.ts";
import type { Tracked } from "./targets.ts";

/**
 * Sessions to read from, in order: the one that reported the end, its plain one, the one where the request began,
 * and that one's owner.
 */
export const sessionsFor = (entry: RequestEntry, by: Tracked): CdpSession[] => {
  const candidates = [by.session, by.plain, entry.target.session, entry.target.plain];
  for (let t = entry.target.parent; t; t = t.parent) candidates.push(t.session);
  return [...new Set(candidates)].filter((session) => session !== null);
};

/** Whether a read came too late: its body has been given up already, and is dropped. */
export function isLate(result: BodyRead, isClosed: () => boolean): boolean {
  if (!isClosed()) return false;
  if ("body" in result) dropBody(result.body);
  return true;
}

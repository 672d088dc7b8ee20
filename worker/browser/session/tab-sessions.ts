import {
  type LoadWatch,
  type PendingLoad,
  type ShownDocument,
  watchLoads,
} from "../actions/loads.ts";
import type { CdpSession } from "../cdp/connection.ts";

/** The CDP sessions of tabs, one each, and what their tabs are loading. */
export interface TabSessions {
  /** False when the tab has one already. */
  add(target_id: string, session: CdpSession): boolean;
  /** Null when the tab is gone. */
  get(target_id: string): CdpSession | null;
  /** The documents that tabs are waiting for. */
  pendingLoads(urlOf: (target_id: string) => string): (PendingLoad & { target_id: string })[];
}

export function createTabSessions(
  onShown: (target_id: string, document: ShownDocument) => void = () => {},
): TabSessions {
  const sessions = new Map<string, { session: CdpSession; loads: LoadWatch }>();
  return {
    add: (target_id, session) => {
      if (sessions.has(target_id)) return false;
      const loads = watchLoads(session, target_id, (document) => onShown(target_id, document));
      sessions.set(target_id, { session, loads });
      void session.closed.then(() => {
        if (sessions.get(target_id)?.session === session) sessions.delete(target_id);
      });
      return true;
    },
    get: (target_id) => sessions.get(target_id)?.session ?? null,
    pendingLoads: (urlOf) =>
      [...sessions].flatMap(([target_id, { loads }]) => {
        const load = loads.pending(urlOf(target_id));
        return load ? [{ ...load, target_id }] : [];
      }),
  };
}

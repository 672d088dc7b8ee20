import type { AccessTokenRow, BrowserSessionRow } from "./rows.ts";

/** Tokens with roles, and browsers that were let in. Secrets are looked up by their hash. */
export interface AccessRepo {
  addToken(row: AccessTokenRow): Promise<void>;
  /** Every one, expired ones too. */
  tokens(): Promise<AccessTokenRow[]>;
  /** Whether there is any, including expired ones. */
  hasTokens(): Promise<boolean>;
  findToken(hash: string): Promise<AccessTokenRow | null>;
  tokenById(token_id: string): Promise<AccessTokenRow | null>;
  /**
   * Deletes it with the sessions that were opened with it. With `keep_admin` it is "needed", and stays, if it is the last
   * of the role admin that never expires and there are others.
   */
  removeToken(token_id: string, keep_admin: boolean): Promise<"removed" | "not found" | "needed">;
  /** Stores when it was last used, unless that was stored since `before`. */
  markUsed(token_id: string, now: number, before: number): Promise<void>;
  addSession(row: BrowserSessionRow): Promise<void>;
  /** The session with its token; null when the session, or the token that opened it, is gone. */
  findSession(
    hash: string,
  ): Promise<{ session: BrowserSessionRow; token: AccessTokenRow | null } | null>;
  removeSession(hash: string): Promise<void>;
  removeExpiredSessions(now: number): Promise<void>;
}

import type { Clock } from "#shared/kit/clock.ts";
import type {
  SessionActionArgs,
  SessionActionName,
  SessionActionResult,
} from "#shared/protocol/actions/session-actions.ts";
import type { DownloadedFile, StoredFile } from "../session/session-files.ts";
import type { TabLoad } from "./loads.ts";
import type { Pages } from "./pages.ts";
import type { Hide } from "./typed-secrets.ts";

/** What every action works with. */
export interface ActionContext {
  pages: Pages;
  clock: Clock;
  /** Playwright's own timeout; the caller stops waiting a little later. */
  timeout_ms: number;
  /** Aborts when nobody is waiting for the action any more. */
  signal: AbortSignal;
  /**
   * Rejects with an ActionFailure when something blocks the action that waiting does not resolve; otherwise it stays
   * pending, so it must not outlive the call: a pending promise keeps whatever was raced with it. Null when nothing
   * can block the action.
   */
  interrupted: Promise<never> | null;
  /** Why this URL may not be opened, or null. */
  refusal(url: string): Promise<string | null>;
  /** Hides what is typed into fields whose text nobody may read. */
  hide: Hide;
  /** The documents that the session's tabs are waiting for. */
  pendingLoads(): TabLoad[];
  /** Puts a file where the browser can read it and returns its path. */
  takeInput(name: string, content: { bytes: Uint8Array } | { upload_id: string }): string;
  downloads: {
    /** Oldest first. */
    list(): DownloadedFile[];
    /** A completed one; null for an unknown name. */
    open(name: string): StoredFile | null;
  };
}

/** Actions of the session as a whole, which `session/calls.ts` runs. */
export type WholeSessionAction = "recipe" | "ask" | "agent" | "pick" | "dialogs" | "dialog";

/** What the actions on the active tab do, by their names. The hub answers `keepalive` itself. */
export type PageActions = {
  [A in Exclude<SessionActionName, WholeSessionAction>]: (
    ctx: ActionContext,
    args: SessionActionArgs<A>,
  ) => Promise<A extends "keepalive" ? null : SessionActionResult<A>>;
};

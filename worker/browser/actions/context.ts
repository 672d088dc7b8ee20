import type { Clock } from "#shared/kit/clock.ts";
import type { DownloadedFile, StoredFile } from "../session/files.ts";
import type { TabLoad } from "./loads.ts";
import type { Pages } from "./pages.ts";

/** What every action works with. */
export interface ActionContext {
  pages: Pages;
  clock: Clock;
  /** Playwright's own patience; the caller stops waiting a little later. */
  timeout_ms: number;
  /** Aborts when nobody waits for the action any more. */
  signal: AbortSignal;
  /**
   * Rejects with an ActionFailure when something comes in the way that no patience gets past; else it stays as it is, and so
   * it must not outlive the call: a promise that stays keeps whatever was raced with it. Null: nothing can come in the way.
   */
  interrupted: Promise<never> | null;
  /** Why this URL may not be opened, or null. */
  refusal(url: string): Promise<string | null>;
  /** The documents that the session's tabs wait for now. */
  pendingLoads(): TabLoad[];
  /** Puts a file where the browser can read it and gives its path. */
  takeInput(name: string, content: { bytes: Uint8Array } | { upload_id: string }): string;
  downloads: {
    /** Oldest first. */
    list(): DownloadedFile[];
    /** A completed one; null for an unknown name. */
    open(name: string): StoredFile | null;
  };
}

import type { BlockedReport } from "#shared/protocol/schema/block.ts";
import type { Dialog, DialogPolicy } from "#shared/protocol/schema/dialog.ts";
import type { ReplayReport } from "#shared/protocol/schema/replay.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import type { LaneHold } from "../lanes/pool.ts";
import type { CdpClients } from "./cdp-clients.ts";
import type { OwnFiles, SessionFiles } from "./session-files.ts";

export type { SessionFiles, StoredFile } from "./session-files.ts";

/**
 * A lane's browser as sessions, viewer and CDP clients see it on the worker. Every running job has one, a `keep_session`
 * job leaves it behind, and HubOpenSession makes one of its own. It is in `Sessions` exactly while calls may reach it.
 */
export interface LiveSession {
  readonly session_id: string;
  readonly lane_idx: number;
  /** The token of the lane's current lease; changes when a job is attached. */
  lease_token: number;
  job_id: string | null;
  readonly hold: LaneHold;
  /** The browser in use; replaced when a profile was saved from it. Null while there is none yet. */
  browser(): LaneBrowser | null;
  readonly files: SessionFiles & Pick<OwnFiles, "takeInput">;
  /** The programs that are connected to its browser. */
  readonly clients: CdpClients;
  /** CDP target id of the tab that actions go to; null while there is no tab. */
  activeTarget(): string | null;
  /**
   * Hands over the browser and replaces it by the one that `work` resolves with (`profile_save`): Playwright is
   * disconnected first, the old browser's exit does not end the session, and calls wait.
   */
  replaceBrowser(work: (browser: LaneBrowser) => Promise<LaneBrowser>): Promise<void>;
  /** Aborts when the session ends; its reason's message is for people. */
  readonly signal: AbortSignal;
  /** Ends it. Idempotent. */
  end(why: Error): void;
}

/** Where a session is, for the hub's record of it. */
export interface Place {
  url: string;
  title: string;
  tabs: number;
  dialogs: Dialog[];
  /** Of a session that shows a capture. */
  replay?: ReplayReport;
  /** Of a session that blocks requests. */
  blocked?: BlockedReport;
}

/** The job that runs in a session. */
export interface RulingJob {
  dialog_policy: DialogPolicy;
  story: JobStory;
}

/** The sessions of this worker, by id. The bridge and the calls of the hub look them up here and nowhere else. */
export interface Sessions {
  get(session_id: string): LiveSession | undefined;
  /** The session that occupies this lane. */
  onLane(lane_idx: number): LiveSession | undefined;
  all(): readonly LiveSession[];
  /** @returns a function that removes it again. */
  add(session: LiveSession): () => void;
}

export function createSessions(): Sessions {
  const live = new Map<string, LiveSession>();
  return {
    get: (session_id) => live.get(session_id),
    onLane: (lane_idx) => [...live.values()].find((s) => s.lane_idx === lane_idx),
    all: () => [...live.values()],
    add: (session) => {
      live.set(session.session_id, session);
      return () => {
        if (live.get(session.session_id) === session) live.delete(session.session_id);
      };
    },
  };
}

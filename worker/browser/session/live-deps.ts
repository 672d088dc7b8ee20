import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Viewport } from "#shared/protocol/schema/browser-options.ts";
import type { DialogPolicy } from "#shared/protocol/schema/dialog.ts";
import type { Judge } from "#worker/egress/judge.ts";
import type { TypicalSizes } from "../block/typical-sizes.ts";
import type { LaneHold } from "../lanes/pool.ts";
import type { Sessions } from "./live-session.ts";
import type { ShownBrowser } from "./shown-browser.ts";

export interface LiveDeps {
  sessions: Sessions;
  clock: Clock;
  guard: Judge;
  log: Log;
  /** Limit of all downloads of one session, in bytes. */
  download_max_bytes: number;
  /** Of what the pages of all sessions have received. */
  sizes: TypicalSizes;
}

export interface NewLive {
  session_id: string;
  lane_idx: number;
  lease_token: number;
  job_id: string | null;
  hold: LaneHold;
  viewport?: Viewport | null;
  dialog_policy?: DialogPolicy;
  shown?: ShownBrowser;
}

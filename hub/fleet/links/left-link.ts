import type { LaneHeld } from "#shared/protocol/link/messages.ts";

/** A link that a worker had with a hub which is gone, and what it still runs. */
export interface LeftLink {
  readonly upload_token: string;
  /** Messages of that hub which the worker has received. */
  readonly sent: number;
  /** Messages of the worker that need not come again. */
  readonly received: number;
  /** That hub had handled exactly these; else some of what comes again was handled. */
  readonly exact: boolean;
  readonly holds: readonly LaneHeld[];
}

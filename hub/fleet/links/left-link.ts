import type { LaneHeld } from "#shared/protocol/link/messages.ts";

/** A link that a worker had with a hub that is gone, and what the worker still runs. */
export interface LeftLink {
  readonly upload_token: string;
  /** How many messages of that hub the worker has received. */
  readonly sent: number;
  /** How many messages of the worker need not come again. */
  readonly received: number;
  /** That hub had handled exactly these messages; else it had handled some of those that come again. */
  readonly exact: boolean;
  readonly holds: readonly LaneHeld[];
}

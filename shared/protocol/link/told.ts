import { z } from "zod";
import { RunEvent } from "../schema/run-event.ts";
import { ViewerEvent } from "../schema/viewer-event.ts";

/** What a hub tells the recordings of a session. */

/** What viewers of a session did, for its recordings. Sent only to workers that report `viewer_events`. */
export const HubViewerEvents = z.object({
  type: z.literal("HubViewerEvents"),
  session_id: z.string().max(64),
  events: z.array(ViewerEvent).min(1).max(32),
});
export type HubViewerEvents = z.infer<typeof HubViewerEvents>;

/** What the hub did with the job of a session, for its recording. Sent only to workers that report `run_events`. */
export const HubRunEvents = z.object({
  type: z.literal("HubRunEvents"),
  session_id: z.string().max(64),
  events: z.array(RunEvent).min(1).max(32),
});
export type HubRunEvents = z.infer<typeof HubRunEvents>;

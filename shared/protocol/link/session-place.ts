import { z } from "zod";
import { BlockedReport } from "../schema/block.ts";
import { Dialog } from "../schema/dialog.ts";
import { ReplayReport } from "../schema/replay.ts";

/** Where a session's active tab is, and how its browser does. */
export const SessionPlace = z.object({
  url: z.string().max(70_000),
  title: z.string().max(4_096),
  tabs: z.int().min(0),
  dialogs: z.array(Dialog).max(20).default([]),
  /** Of a session that shows a capture. */
  replay: ReplayReport.optional(),
  /** Of a session that blocks requests. */
  blocked: BlockedReport.optional(),
});

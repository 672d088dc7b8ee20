import { z } from "@hono/zod-openapi";

/** What is recorded of a run: nothing, what happened, or that and the screen (rules/recordings#what-is-recorded). */
export const RecordMode = z.enum(["off", "events", "screen"]);
export type RecordMode = z.infer<typeof RecordMode>;

import { z } from "@hono/zod-openapi";

const name = z.string().max(200).optional();
const count = z.number().int().min(0);
const where = z.number().min(-100_000).max(100_000).optional();

/** Events of a recording that a hub notices (rules/recordings#viewers-in-a-recording). */
export const VIEWER_EVENTS = [
  /** A viewer came, began to act, or went. `from` is its address, `mode` what it may do. */
  z.object({
    type: z.literal("viewer"),
    state: z.enum(["connected", "took_over", "disconnected"]),
    by: name,
    from: name,
    mode: z.enum(["view", "control"]).optional(),
  }),
  /** What people did, gathered over a moment that began `ms` before. Of keys there is only their number. */
  z.object({
    type: z.literal("input"),
    kind: z.enum(["pointer", "keys", "wheel", "paste"]),
    count,
    ms: count.optional(),
    x: where,
    y: where,
    by: name,
  }),
] as const;

export const ViewerEvent = z.discriminatedUnion("type", VIEWER_EVENTS);
export type ViewerEvent = z.infer<typeof ViewerEvent>;

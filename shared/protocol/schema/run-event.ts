import { z } from "zod";

const MAX_TEXT = 2_000;
const text = z.string().max(MAX_TEXT);

/** What the hub itself does with a scripted job, for the recording of its run (rules/recordings#the-events). */
export const RunEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("stage"), stage: z.string().max(64), text }),
  z.object({
    type: z.literal("step"),
    of: z.literal("script"),
    text,
    reason: text,
    outcome: z.enum(["done", "failed"]),
  }),
]);
export type RunEvent = z.infer<typeof RunEvent>;

export const runText = (raw: string): string =>
  (raw.length > MAX_TEXT ? `${raw.slice(0, MAX_TEXT - 1)}…` : raw).toWellFormed();

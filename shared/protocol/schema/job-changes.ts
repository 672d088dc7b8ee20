import { z } from "@hono/zod-openapi";

/** What of a page may count as a change. */
const CHANGE_PARTS = ["text", "title", "status", "assets"] as const;
export const ChangePart = z.enum(CHANGE_PARTS);
export type ChangePart = z.infer<typeof ChangePart>;

const pair = <T extends z.ZodType>(value: T) =>
  z.object({ changed: z.boolean(), before: value, after: value });

/** What a capture of a watch differs in from the one before (rules/watches#what-counts-as-a-change). */
export const JobChanges = z
  .object({
    against: z.string().meta({ description: "The job it was compared with" }),
    parts: z
      .array(ChangePart)
      .meta({ description: "Those that differ and that count for the watch" }),
    text: z
      .object({ added: z.int(), removed: z.int() })
      .nullable()
      .meta({ description: "Lines, without ignored ones; null where a capture has no page.html" }),
    title: pair(z.string().nullable()),
    status: pair(z.int().nullable()),
    assets: z.object({ new: z.int(), gone: z.int(), changed: z.int() }),
  })
  .openapi("JobChanges");
export type JobChanges = z.infer<typeof JobChanges>;

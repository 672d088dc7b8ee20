import { z } from "@hono/zod-openapi";
import { Asset } from "./asset.ts";

/** An asset as a comparison shows it. */
export const ComparedAsset = Asset.pick({
  name: true,
  href: true,
  kind: true,
  mime: true,
  status: true,
  size: true,
  sha256: true,
  partial: true,
})
  .extend({
    url: z.string().meta({ description: "Where it was downloaded from, at most 2,000 characters" }),
  })
  .openapi("ComparedAsset");
export type ComparedAsset = z.infer<typeof ComparedAsset>;

export const AssetChange = z
  .object({
    match: z.enum(["exact", "fuzzy"]).meta({
      description: "`fuzzy`: the URLs are the same without parameters that change with every visit",
    }),
    differs: z.array(z.enum(["body", "size", "mime", "status"])),
    before: ComparedAsset,
    after: ComparedAsset,
  })
  .openapi("AssetChange");
export type AssetChange = z.infer<typeof AssetChange>;

/** Assets of two jobs (rules/comparison#assets). */
export const AssetsCompared = z
  .object({
    counts: z.object({ new: z.int(), gone: z.int(), changed: z.int(), unchanged: z.int() }),
    new: z.array(ComparedAsset),
    gone: z.array(ComparedAsset),
    changed: z.array(AssetChange),
    lists_cut: z.boolean().meta({ description: "A list has fewer items than its count says" }),
    assets_cut: z
      .boolean()
      .meta({ description: "A job has more assets than are compared: the rest is in no count" }),
  })
  .openapi("AssetsCompared");
export type AssetsCompared = z.infer<typeof AssetsCompared>;

export const TextHunk = z
  .object({
    before_start: z.int().meta({ description: "Its first line in the text before, from 1" }),
    before_lines: z.int(),
    after_start: z.int(),
    after_lines: z.int(),
    lines: z
      .array(z.string())
      .meta({ description: "Each with ` ` (in both), `-` (gone) or `+` (new) before its text" }),
  })
  .openapi("TextHunk");
export type TextHunk = z.infer<typeof TextHunk>;

/** The visible text of two pages (rules/comparison#text). */
export const TextCompared = z
  .object({
    changed: z.boolean(),
    lines_gone: z.int(),
    lines_new: z.int(),
    hunks: z.array(TextHunk).meta({ description: "As in a unified diff" }),
    hunks_cut: z.boolean().meta({ description: "There are more lines than the hunks show" }),
    too_different: z.boolean().meta({
      description:
        "No hunks, because too much differs; the counts are those of lines that only one text has",
    }),
    text_cut: z
      .boolean()
      .meta({ description: "A page has more text than is compared: its rest was not read" }),
  })
  .openapi("TextCompared");
export type TextCompared = z.infer<typeof TextCompared>;

const PictureSide = z.object({ href: z.string(), width: z.int(), height: z.int() });

/** The pictures of two pages at their ends (rules/comparison#picture). */
export const PictureCompared = z
  .object({
    ratio: z.number().min(0).max(1).meta({
      description: "How much of what either shows differs; what only one of them shows does",
    }),
    before: PictureSide,
    after: PictureSide,
    boxes: z
      .array(z.object({ x: z.int(), y: z.int(), width: z.int(), height: z.int() }))
      .meta({ description: "Every pixel that differs is in one of them; in pixels of both" }),
  })
  .openapi("PictureCompared");
export type PictureCompared = z.infer<typeof PictureCompared>;

const pair = <T extends z.ZodType>(value: T) =>
  z.object({ changed: z.boolean(), before: value, after: value });

/** GET /jobs/{id}/diff/{other} (rules/comparison#compare-two-jobs). `before` is job `id`, `after` is `other`. */
export const JobComparison = z
  .object({
    before: z.object({ job_id: z.string(), url: z.string(), finished_at: z.string().nullable() }),
    after: z.object({ job_id: z.string(), url: z.string(), finished_at: z.string().nullable() }),
    page: z.object({
      title: pair(z.string().nullable()),
      final_url: pair(z.string().nullable()),
      http_status: pair(z.int().nullable()),
      text: TextCompared.nullable().meta({ description: "null where a job has no page.html" }),
      picture: PictureCompared.nullable(),
      picture_missing: z
        .string()
        .nullable()
        .meta({ description: "Why there is no `picture`; null where there is one" }),
    }),
    assets: AssetsCompared,
  })
  .openapi("JobComparison");
export type JobComparison = z.infer<typeof JobComparison>;

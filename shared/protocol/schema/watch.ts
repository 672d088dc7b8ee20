import { z } from "@hono/zod-openapi";
import { WATCH_LIMITS } from "../limits.ts";
import { JobStatus, TargetUrl } from "./job.ts";
import { ChangePart } from "./job-changes.ts";
import { NextCursor } from "./page.ts";
import { WebhookUrl } from "./webhook-url.ts";

const { patterns, pattern_chars, keep, every_s } = WATCH_LIMITS;

const Patterns = z
  .array(
    z
      .string()
      .max(pattern_chars)
      .refine((text) => /[^*]/.test(text), "must have more than stars"),
  )
  .max(patterns);

/** What people decide about a watch, without defaults. */
const fields = {
  url: TargetUrl.meta({ description: "The page to capture again and again." }),
  name: z.string().max(200).meta({ description: "What people call it." }),
  options: z
    .record(z.string(), z.unknown())
    .meta({ description: "Some of JobOptions; the others have their defaults." }),
  cron: z.string().min(1).max(200).nullable().meta({
    description: "When to capture: a cron expression of five fields, or @daily and the like.",
  }),
  cron_tz: z
    .string()
    .min(1)
    .max(64)
    .meta({ description: "The time zone of cron, such as Europe/Berlin." }),
  every_s: z.int().min(every_s.min).max(every_s.max).nullable().meta({
    description: "How long after one capture is due the next one is; instead of cron.",
    "x-unit": "s",
  }),
  paused: z.boolean().meta({ description: "Nothing is captured on schedule while it is set." }),
  compare: z.array(ChangePart).min(1).max(4).meta({ description: "What counts as a change." }),
  ignore_text: Patterns.meta({
    description: "Lines of text that do not count. A star stands for any characters.",
  }),
  ignore_assets: Patterns.meta({
    description: "URLs of assets that do not count. A star stands for any characters.",
  }),
  keep: z.int().min(keep.min).max(keep.max).meta({
    description: "How many completed captures are kept, and as many that failed.",
  }),
  webhook_url: WebhookUrl.nullable().meta({
    description: "Gets the record of every capture that has changed.",
  }),
};

const withDefaults = {
  ...fields,
  name: fields.name.default(""),
  options: fields.options.default({}),
  cron: fields.cron.default(null),
  cron_tz: fields.cron_tz.default("UTC"),
  every_s: fields.every_s.default(null),
  paused: fields.paused.default(false),
  compare: fields.compare.default(["text", "title", "status"]),
  ignore_text: fields.ignore_text.default([]),
  ignore_assets: fields.ignore_assets.default([]),
  keep: fields.keep.default(keep.default),
  webhook_url: fields.webhook_url.default(null),
};

/** Body of POST /watches and of PUT /watches/{id} (rules/watches#watch-record). */
export const PutWatch = z
  .strictObject(withDefaults)
  .superRefine(({ cron, every_s }, ctx) => {
    if ((cron === null) === (every_s === null))
      ctx.addIssue({
        code: "custom",
        path: ["cron"],
        message: "exactly one of cron and every_s is required",
      });
  })
  .openapi("PutWatch");
export type PutWatch = z.infer<typeof PutWatch>;

/** Body of PATCH /watches/{id}: what is left out stays; `cron` replaces `every_s`, and the other way round. */
export const PatchWatch = z.strictObject(fields).partial().openapi("PatchWatch");
export type PatchWatch = z.infer<typeof PatchWatch>;

const moment = z.string().nullable();

/** A watch (rules/watches#watch-record). Times ISO 8601 UTC. */
export const Watch = z
  .object({
    watch_id: z.string(),
    ...fields,
    next_at: moment.meta({ description: "When it is due; null while it is paused" }),
    capturing: z.string().nullable().meta({ description: "The capture that is under way" }),
    baseline: z
      .string()
      .nullable()
      .meta({ description: "The completed capture with which the next one is compared" }),
    last: z
      .object({
        job_id: z.string(),
        status: JobStatus,
        at: z.string(),
        changed: z.boolean().nullable(),
      })
      .nullable()
      .meta({ description: "The last capture that ended" }),
    last_change: z.object({ job_id: z.string(), at: z.string() }).nullable(),
    failing_since: moment.meta({
      description: "When the first of the captures ended that failed in a row",
    }),
    failures: z.int().meta({ description: "Captures that failed in a row" }),
    last_error: z
      .string()
      .nullable()
      .meta({ description: "Why the last capture failed, or could not be made or compared" }),
    captures: z.int().meta({ description: "Captures that completed" }),
    changes: z.int().meta({ description: "Those of them that had changed" }),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi("Watch");
export type Watch = z.infer<typeof Watch>;

export const WatchList = z.object({ watches: z.array(Watch), ...NextCursor }).openapi("WatchList");

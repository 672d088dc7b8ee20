import { z } from "@hono/zod-openapi";

/** What a job's capture has of one request, as a line of the index that a worker replays (rules/replay#what-is-answered). */
export const ReplayEntry = z
  .object({
    method: z.string().max(40),
    url: z.string().max(70_000),
    status: z.int().min(0).max(999),
    headers: z.array(z.tuple([z.string(), z.string()])).max(1_000),
    /** Null: nothing was sent. `ranges`: what is held of it, one after the other, where that is not all of `total`. */
    body: z
      .object({
        name: z.string().max(255),
        size: z.int().min(0),
        ranges: z
          .array(z.object({ start: z.int().min(0), end: z.int().min(0) }))
          .max(1_000)
          .optional(),
        total: z.int().min(0).optional(),
      })
      .nullable(),
    /** Of the body that was sent with the request: `bodyDigest`. */
    digest: z.string().max(64).optional(),
    /** When it was requested, in milliseconds since 1970. Absent in what earlier hubs send. */
    at: z.number().optional(),
    /** The browser had it from its cache or a service worker: it counts where nothing else answers. */
    is_second_hand: z.boolean().optional(),
    /** Why it cannot be answered. */
    lacks: z.string().max(500).optional(),
  })
  .openapi("ReplayEntry");
export type ReplayEntry = z.infer<typeof ReplayEntry>;

/** What pages of a replay see as the time (rules/replay#the-clock). */
export const ReplayClock = z.enum(["capture", "now"]);
export type ReplayClock = z.infer<typeof ReplayClock>;

/** As an option of sessions and jobs. */
export const ReplayClockOption = ReplayClock.default("now").meta({
  description:
    "The time that pages of a replay see: now, or capture, where their clock begins when the capture was made and goes on from there.",
});

/** What a clock without a replay is answered with. */
export const NEEDS_REPLAY = { path: ["replay_clock"], error: "is only for use with replay" };

/** How many of the requests without an answer a report lists. */
export const MAX_MISSED = 100;

const MissedRequest = z.object({
  method: z.string().max(40),
  url: z.string().max(2_000),
  reason: z.string().max(500),
});

/** How a replay went (rules/replay#the-report). */
export const ReplayReport = z.object({
  job_id: z.string().max(64).meta({ description: "The job whose capture answered" }),
  answered: z.int().min(0).meta({ description: "Requests that the capture answered" }),
  missed_count: z.int().min(0).meta({ description: "Requests that it could not answer" }),
  missed: z
    .array(MissedRequest)
    .max(MAX_MISSED)
    .meta({ description: `The first ${MAX_MISSED} different ones of those` }),
  clock_began: z
    .string()
    .max(40)
    .optional()
    .meta({ description: "The time at which the clock of its pages began; absent: the present" }),
});
export type ReplayReport = z.infer<typeof ReplayReport>;

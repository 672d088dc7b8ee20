import { z } from "@hono/zod-openapi";
import { Fingerprint } from "./fingerprint.ts";
import { JobListQuery } from "./job.ts";
import { NextCursor } from "./page.ts";
import { MAX_PK_LENGTH, QUEUE_STATES } from "./queue.ts";

/** Failures in groups, and what is done to many tasks or jobs at once (rules/failures#groups). */

const FIRST = 50;
const MAX_GROUPS = 100;
const MAX_BUCKETS = 96;
/** Workloads, workers or hosts that a group names. */
export const MAX_NAMED = 50;
/** Tasks or jobs that an answer names as examples. */
export const MAX_EXAMPLES = 5;

const time = z.iso.datetime({ offset: true });
const Text = z.string().min(1).max(500);
const Name = z.string().min(1).max(200);

const query = {
  fingerprint: Fingerprint.optional(),
  worker: Name.optional().openapi({ description: "Failures on this worker" }),
  since: time
    .optional()
    .openapi({ description: "From then on; 24 hours before `until` by default" }),
  until: time.optional().openapi({ description: "Before then; now by default" }),
  text: Text.optional().openapi({ description: "A part of the error, in any case" }),
  sort: z.enum(["last_seen", "count"]).default("last_seen"),
  buckets: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_BUCKETS)
    .openapi({ type: "integer", description: "Parts of the time that `trend` counts" })
    .default(24),
  limit: z.coerce.number().int().min(1).max(MAX_GROUPS).default(FIRST),
  cursor: z.string().min(1).max(200).optional(),
};

/** Query of GET /api/v1/failures. */
export const FailureQuery = z.object({ workload: Name.optional(), ...query });
export type FailureQuery = z.infer<typeof FailureQuery>;

/** Query of GET /jobs/failures. */
export const JobFailureQuery = z.object({ host: z.string().min(1).max(253).optional(), ...query });
export type JobFailureQuery = z.infer<typeof JobFailureQuery>;

const group = {
  fingerprint: Fingerprint,
  kind: z.string().openapi({ description: "The class of the error", example: "OSError" }),
  message: z.string().openapi({
    description: "Its first line, with placeholders for what differs from case to case",
    example: "cannot identify image file ‹path›",
  }),
  count: z.int().openapi({ description: "How often it happened in the time that was asked for" }),
  trend: z
    .array(z.int())
    .openapi({ description: "The same for each part of that time, the oldest first" }),
  first_seen: z
    .string()
    .openapi({ description: "The first of all that are kept, also before `since`" }),
  last_seen: z.string(),
  workers: z
    .array(z.string())
    .openapi({ description: `Where it happened; at most ${MAX_NAMED}, sorted` }),
};
const Traceback = z
  .string()
  .openapi({ description: "Its traceback, or its whole error where it has none; at most 16 KiB" });

export const FailureGroup = z
  .object({
    ...group,
    workloads: z.array(z.string()).openapi({ description: `At most ${MAX_NAMED}, sorted` }),
    example: z
      .object({
        href: z.string(),
        run_id: z.int(),
        workload: z.string(),
        pk: z.string(),
        attempt: z.int(),
        worker_id: z.string().nullable(),
        duration_ms: z.int(),
        finished_at: z.string(),
        traceback: Traceback,
      })
      .nullable()
      .openapi({ description: "The newest run of the group; null when it was just deleted" }),
  })
  .openapi("FailureGroup");
export type FailureGroup = z.infer<typeof FailureGroup>;

export const JobFailureGroup = z
  .object({
    ...group,
    hosts: z.array(z.string()).openapi({ description: `At most ${MAX_NAMED}, sorted` }),
    example: z
      .object({
        href: z.string(),
        job_id: z.string(),
        url: z.string(),
        stage: z.string().nullable(),
        worker_id: z.string().nullable(),
        finished_at: z.string(),
        traceback: Traceback,
      })
      .nullable()
      .openapi({ description: "The newest job of the group; null when it was just deleted" }),
  })
  .openapi("JobFailureGroup");
export type JobFailureGroup = z.infer<typeof JobFailureGroup>;

const list = {
  since: z.string(),
  until: z.string(),
  bucket_s: z.number().openapi({ description: "Seconds that one part of `trend` covers" }),
  complete: z.boolean().openapi({
    description:
      "False when there were more failures than one answer counts: those before `counted_since` are missing",
  }),
  counted_since: z.string(),
  ...NextCursor,
};
export const FailureList = z
  .object({ items: z.array(FailureGroup), ...list })
  .openapi("FailureList");
export type FailureList = z.infer<typeof FailureList>;
export const JobFailureList = z
  .object({ items: z.array(JobFailureGroup), ...list })
  .openapi("JobFailureList");
export type JobFailureList = z.infer<typeof JobFailureList>;

const DryRun = z
  .boolean()
  .default(false)
  .openapi({ description: "Change nothing: answer how many it would be, and a few of them" });

/** What a preview said: whatever came since is not meant. */
const AtMost = z.int().min(0).max(1_000_000_000).optional().openapi({
  description:
    "Refuse with 409 when the filter finds more, and never change more; needed where no filter but a state is given",
});

const selection = {
  worker: Name.optional().openapi({ description: "Whose last attempt failed on this worker" }),
  since: time.optional().openapi({ description: "Whose last attempt failed from then on" }),
  until: time.optional().openapi({ description: "Whose last attempt failed before then" }),
  text: Text.optional().openapi({ description: "A part of the key or of the last error" }),
  dry_run: DryRun,
  at_most: AtMost,
};
const State = z.enum(QUEUE_STATES).optional();
const MoveTo = z
  .string()
  .min(1)
  .max(MAX_PK_LENGTH)
  .openapi({ description: "The workload in whose queue they wait from then on" });

const ofTasks = { fingerprint: Fingerprint.optional(), state: State, ...selection };
const ofFailures = {
  fingerprint: Fingerprint,
  workload: Name.optional(),
  state: State,
  ...selection,
};

// Not by `extend`: a strict schema that is described as part of another refuses what the other adds.
/** Body of POST /api/v1/workloads/{slug}/tasks/retry, cancel and delete. */
export const TaskSelection = z.strictObject(ofTasks).openapi("TaskSelection");
export const TaskMove = z.strictObject({ ...ofTasks, to: MoveTo }).openapi("TaskMove");
/** Body of POST /api/v1/failures/retry, cancel and delete. */
export const FailureSelection = z.strictObject(ofFailures).openapi("FailureSelection");
export const FailureMove = z.strictObject({ ...ofFailures, to: MoveTo }).openapi("FailureMove");
export type TaskSelection = z.infer<typeof TaskSelection>;

const counts = {
  dry_run: z.boolean(),
  matched: z.int().openapi({ description: "How many the filter found" }),
  changed: z.int(),
  moved_on: z
    .int()
    .openapi({ description: "Found, but not as they were found any more when their turn came" }),
  complete: z.boolean().openapi({
    description: "False when the time of one call was over before the end: call again to go on",
  }),
};
export const TaskChanges = z
  .object({
    ...counts,
    duplicates: z
      .int()
      .openapi({ description: "Not moved: the other queue has a task with this key" }),
    examples: z.array(
      z.object({ workload: z.string(), pk: z.string(), state: z.enum(QUEUE_STATES) }),
    ),
  })
  .openapi("TaskChanges");
export type TaskChanges = z.infer<typeof TaskChanges>;

const jobFilters = JobListQuery.omit({ limit: true, cursor: true, changed: true }).extend({
  job_id: z.string().min(1).max(64).optional().openapi({ description: "This job alone" }),
  changed: z.boolean().optional(),
  text: Text.optional().openapi({ description: "A part of the error, in any case" }),
});
/** Body of POST /jobs/retry, /jobs/cancel and /jobs/delete: the filters of GET /jobs, of which one must be given. */
export const JobSelection = z
  .strictObject({ ...jobFilters.shape, dry_run: DryRun, at_most: AtMost })
  .openapi("JobSelection");
export type JobSelection = z.infer<typeof JobSelection>;

export const JobChangesMade = z
  .object({
    ...counts,
    refused: z.int().openapi({ description: "Could not be changed; `refusals` says why" }),
    refusals: z.array(z.object({ job_id: z.string(), reason: z.string() })),
    examples: z.array(z.object({ job_id: z.string(), url: z.string(), status: z.string() })),
  })
  .openapi("JobChangesMade");
export type JobChangesMade = z.infer<typeof JobChangesMade>;

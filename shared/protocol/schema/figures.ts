import { z } from "@hono/zod-openapi";
import { WaitingFor } from "./job.ts";

/** Figures of the fleet (rules/figures#figures-of-the-fleet). Times ISO 8601 UTC. */

const FIGURE_RANGES = ["1h", "6h", "24h", "7d"] as const;
export const FigureRange = z.enum(FIGURE_RANGES);
export type FigureRange = z.infer<typeof FigureRange>;

export const FiguresQuery = z.object({
  range: FigureRange.default("24h").openapi({ description: "How far back the captures go" }),
});

const CaptureCounts = z.object({
  completed: z
    .int()
    .openapi({ description: "Completed, and the page answered with less than 400" }),
  http_error: z.int().openapi({ description: "Completed, and the page answered with 400 or more" }),
  failed: z.int(),
  cancelled: z.int(),
  open: z.int().openapi({ description: "Queued or running" }),
});
export type CaptureCounts = z.infer<typeof CaptureCounts>;

const CaptureBucket = CaptureCounts.extend({
  from: z.string().openapi({ description: "Jobs are counted where they were created" }),
});

/** A host of the last hundred captures of the range at most. */
export const HostFigures = z
  .object({
    host: z.string(),
    captures: z.int().openapi({ description: "The newest of the range, at most 100" }),
    completed: z.int(),
    http_error: z.int(),
    failed: z.int(),
    login_needed: z
      .int()
      .openapi({ description: "Of the completed, those that ended on a sign-in page" }),
    median_ms: z.int().nullable().openapi({ description: "Of those that ran to an end" }),
    error: z.string().nullable().openapi({ description: "The newest failure's" }),
  })
  .openapi("HostFigures");
export type HostFigures = z.infer<typeof HostFigures>;

const PROBLEM_KINDS = [
  "login_needed",
  "host_failing",
  "no_worker",
  "workers_paused",
  "worker_gone",
  "worker_disk",
  "lanes_out",
  "hub_disk",
  "store",
  "retention",
  "queue_waits",
] as const;

/** Something that keeps captures from going well. */
export const FleetProblem = z
  .object({
    kind: z.enum(PROBLEM_KINDS),
    severity: z.enum(["bad", "warn"]),
    subject: z
      .string()
      .nullable()
      .openapi({ description: "The host, worker or part of the hub that it is about" }),
    detail: z.string().openapi({ description: "Its cause, as a sentence without its full stop" }),
    since: z.string().nullable().openapi({ description: "Null where nobody knows" }),
    url: z
      .string()
      .nullable()
      .openapi({ description: "The page to open for a person, of `login_needed`" }),
  })
  .openapi("FleetProblem");
export type FleetProblem = z.infer<typeof FleetProblem>;

const Storage = z.object({
  kinds: z.array(
    z.object({ kind: z.enum(["bodies", "recordings", "profiles", "database"]), bytes: z.number() }),
  ),
  free_bytes: z.number().nullable().openapi({
    description:
      "Of the disk of the hub with the least room beside its reserve; null where none is watched",
  }),
  size_bytes: z.number().nullable(),
  reserve_bytes: z.number().nullable(),
  bytes_per_day: z
    .number()
    .openapi({ description: "Bodies and recordings of the last seven days, by the day" }),
  full_at: z.string().nullable().openapi({
    description:
      "When the reserve is reached at this pace; null where it never is, because what is old is deleted first, and where bodies are not on the hub's disk",
  }),
  retention_days: z.int().openapi({ description: "0: nothing is deleted for its age" }),
});

/** Answer of GET /figures. */
export const Figures = z
  .object({
    range: FigureRange,
    at: z.string(),
    from: z.string(),
    bucket_s: z.int(),
    captures: z.object({ total: CaptureCounts, buckets: z.array(CaptureBucket) }),
    hosts: z.object({
      failing: z.array(HostFigures).openapi({ description: "Those with most trouble first" }),
      slow: z.array(HostFigures).openapi({ description: "The slowest first, by their median" }),
    }),
    lanes: z.object({
      total: z.int().openapi({ description: "Lanes that can be used, of active workers" }),
      busy: z.int(),
      free: z.int(),
      workers: z.int(),
    }),
    queue: z.object({
      queued: z.int(),
      oldest_at: z.string().nullable(),
      waiting_for: WaitingFor.nullable(),
    }),
    storage: Storage,
    problems: z.array(FleetProblem).openapi({ description: "The worst first" }),
    begun: z
      .object({ captured: z.boolean(), session: z.boolean(), engine: z.boolean() })
      .openapi({ description: "Whether anything was ever captured, opened and added" }),
  })
  .openapi("Figures");
export type Figures = z.infer<typeof Figures>;

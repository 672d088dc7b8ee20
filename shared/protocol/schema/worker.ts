import { z } from "@hono/zod-openapi";
import { EgressReport } from "../egress-cover.ts";
import { NextCursor } from "./page.ts";
import { WorkerUpdate } from "./updates.ts";

const LANE_STATES = [
  "booting",
  "warm",
  "running",
  "resetting",
  "recycling",
  "quarantined",
  "dead",
] as const;
/** `warm`: plain and free. `running`: a job holds it. `resetting`: Chromium is being replaced after a job. */
export const LaneState = z.enum(LANE_STATES);
export type LaneState = z.infer<typeof LaneState>;

/** A lane as its worker reports it. `sandbox`: whether Chromium's own sandbox is on; `reason` explains a bad state. */
export const Lane = z
  .object({
    lane_idx: z.int().min(0).max(999),
    state: LaneState,
    session_id: z.string().nullable(),
    job_id: z.string().nullable(),
    mode: z.enum(["headful", "headless"]),
    sandbox: z.enum(["on", "off"]),
    reason: z.string().nullable(),
  })
  .openapi("Lane");
export type Lane = z.infer<typeof Lane>;

const WORKER_STATUSES = ["active", "drain", "standby"] as const;
export const WorkerStatus = z.enum(WORKER_STATUSES);
export type WorkerStatus = z.infer<typeof WorkerStatus>;

/** What the scheduler uses (rules/workers#worker-record). */
export const Capabilities = z
  .object({
    max_concurrent: z.int().min(0).max(1_000),
    lane_novnc_urls: z.array(z.string().max(500)).max(1_000),
    novnc_url: z.string().max(500).nullable().default(null),
    browser: z.string().max(200).nullable().default(null),
    capture: z.enum(["durable", "buffered"]).default("durable"),
    replay: z.boolean().nullish().meta({
      description:
        "Whether its lanes can show captures (rules/replay). Null in versions that cannot.",
    }),
    replay_clock: z.boolean().nullish().meta({
      description:
        "Whether pages of a replay can see the time of the capture. Null in versions that cannot.",
    }),
    prove_in_replay: z.boolean().nullish().meta({
      description:
        "Whether it runs jobs that prove their scripts in a replay first (rules/scripts). Null in versions that cannot.",
    }),
    trace: z.boolean().nullish().meta({
      description:
        "Whether it makes Playwright traces of scripts and sessions. Null in versions that cannot.",
    }),
    viewer_events: z.boolean().nullish().meta({
      description:
        "Whether its recordings show what viewers do (rules/recordings). Null in versions that record none of it.",
    }),
    session_bodies: z.boolean().nullish().meta({
      description:
        "Whether it keeps the bodies of sessions that ask for it (rules/recordings). Null in versions that cannot.",
    }),
    one_shot: z.boolean().nullish().meta({
      description:
        "Whether it answers one-shot calls (rules/one-shot-calls). Null in versions that cannot.",
    }),
    webdriver: z.boolean().nullish().meta({
      description:
        "Whether its sessions can be steered over WebDriver: it has a chromedriver (rules/webdriver). Null in versions that cannot.",
    }),
    run_events: z.boolean().nullish().meta({
      description:
        "Whether its recordings show what the hub does with a scripted job (rules/recordings). Null in versions that record none of it.",
    }),
    browser_options: z.array(z.string().max(64)).max(100).nullish().meta({
      description:
        "What its lanes can show pages of a browser (rules/browser-options). Null in versions that cannot.",
    }),
    egress: EgressReport.nullish().meta({
      description:
        "Where its lanes may connect (SVC_EGRESS and its lists). Null in versions that support neither sessions with an egress nor proxies.",
    }),
  })
  .openapi("Capabilities");
export type Capabilities = z.infer<typeof Capabilities>;

/** Host figures of a heartbeat, in percent of the machine (or of its cgroup). */
export const HostLoad = z.object({
  cpu_percent: z.number(),
  mem_percent: z.number(),
  disk_pct: z.number(),
});
export type HostLoad = z.infer<typeof HostLoad>;

/** Item of GET /workers (rules/workers#worker-record). Times ISO 8601. */
export const Worker = z
  .object({
    worker_id: z.string(),
    address: z.string(),
    hostname: z.string(),
    version: z.string(),
    alive: z.boolean(),
    status: WorkerStatus,
    in_flight: z.int(),
    capabilities: Capabilities,
    lane_novnc_urls: z.array(z.string()),
    cpu_percent: z.number().nullable(),
    mem_percent: z.number().nullable(),
    disk_pct: z.number().nullable(),
    profiles: z.array(z.string()),
    lanes: z.array(Lane),
    connected_at: z.string().nullable(),
    last_heartbeat_at: z.string().nullable(),
    link_hub: z.string().nullable(),
    /** Null while the worker has the version it should have. */
    update: WorkerUpdate.nullish(),
  })
  .openapi("Worker");
export type Worker = z.infer<typeof Worker>;

export const WorkerList = z
  .object({ workers: z.array(Worker), ...NextCursor })
  .openapi("WorkerList");

/** Body of POST /workers/{id}/status. */
export const SetWorkerStatus = z.strictObject({ status: WorkerStatus }).openapi("SetWorkerStatus");

import { z } from "@hono/zod-openapi";

/**
 * How far a worker's update is. `held`: it waits for its turn; `starting`: it was ordered to update and has not
 * reported since; `restarting`: it is away for its restart; `proving`: it is back on the new version, which has to show
 * that it works; `off`: it does not follow, by its own settings.
 */
const WORKER_UPDATE_STATES = [
  "held",
  "starting",
  "fetching",
  "waiting",
  "draining",
  "restarting",
  "proving",
  "failed",
  "off",
] as const;

const version = z.string().max(64);

/**
 * What a worker reports about the version it was ordered to take (rules/updates#states-of-an-update); `error` says why
 * it keeps its own. `rolled_back`: it ran the version, which did not work; `off`: its settings keep it from updating.
 * Earlier versions report neither.
 */
export const UpdateReport = z
  .object({
    target: z.string().max(64),
    state: z.enum(["fetching", "waiting", "draining", "failed"]),
    error: z.string().max(1_000).nullable(),
    rolled_back: z.boolean().optional(),
    off: z.boolean().optional(),
  })
  .openapi("UpdateReport");
export type UpdateReport = z.infer<typeof UpdateReport>;

/**
 * The version that the worker should have, and whether it is its turn: the hub updates a fleet one worker after the
 * other. An order holds until the next one.
 */
export const UpdateOrder = z.object({ target: z.string().max(64), go: z.boolean() });
export type UpdateOrder = z.infer<typeof UpdateOrder>;

/** Progress of one worker's update. `since`: start of this state, ISO 8601. */
export const WorkerUpdate = z
  .object({
    target: version,
    state: z.enum(WORKER_UPDATE_STATES),
    error: z.string().nullable(),
    since: z.string().nullable(),
  })
  .openapi("WorkerUpdate");
export type WorkerUpdate = z.infer<typeof WorkerUpdate>;

export const WORKER_KINDS = ["browser", "pull"] as const;
/** Workers with browser lanes, linked to a hub; and those that only pull tasks. */
export const WorkerKind = z.enum(WORKER_KINDS);
export type WorkerKind = z.infer<typeof WorkerKind>;

const ROLLOUT_STATES = [
  "up_to_date",
  "canary",
  "rolling",
  "waiting_for_hubs",
  "waiting_for_approval",
  "paused",
  "stopped",
] as const;

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, "must be a version, as flotilla --version prints it");

/** Answer of GET /updates. `detail` says in words what happens now, and what it waits for. */
export const FleetUpdates = z
  .object({
    state: z.enum(ROLLOUT_STATES),
    detail: z.string(),
    /** The version that every worker should have; null while that is unknown. */
    target: version.nullable(),
    hub_versions: z.array(version),
    paused_since: z.string().nullable(),
    pin: version.nullable(),
    worker_pins: z.record(z.string(), version),
    parallel: z.int(),
    approval: z.enum(["auto", "manual"]),
    /** What stopped the roll-out; null if nothing did. */
    failure: z
      .object({
        kind: WorkerKind,
        worker_id: z.string(),
        version,
        error: z.string(),
        at: z.string(),
      })
      .nullable(),
    /** Workers that do not have the version they should have, and those whose update is not over. */
    workers: z.array(
      z.object({
        kind: WorkerKind,
        worker_id: z.string(),
        version: version.nullable(),
        canary: z.boolean(),
        update: WorkerUpdate,
      }),
    ),
  })
  .openapi("FleetUpdates");
export type FleetUpdates = z.infer<typeof FleetUpdates>;

/** Body of POST /updates/approve; without a version the one that is rolled out now. */
export const ApproveUpdate = z.strictObject({ version: name.optional() }).openapi("ApproveUpdate");

/** Body of POST /updates/pin. `version` null removes the pin; with `worker_id` the pin is only for this worker. */
export const PinUpdate = z
  .strictObject({
    version: name.nullable(),
    worker_id: z.string().min(1).max(100).optional(),
  })
  .openapi("PinUpdate");
export type PinUpdate = z.infer<typeof PinUpdate>;

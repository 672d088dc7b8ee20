import { z } from "@hono/zod-openapi";
import { WORKER_ID } from "../ids.ts";
import { NextCursor } from "./page.ts";
import { GpuReading, MAX_SLOTS, PULL_WORKER_ID } from "./pull.ts";
import { Slug } from "./workload.ts";

/** Agents, instances and elastic workers (rules/pipeline-agents#host-agents). */

/** An agent that has been silent for longer is shown as offline. */
export const AGENT_OFFLINE_MS = 30_000;
/** How often an agent reports. */
export const AGENT_SYNC_MS = 5_000;
export const MAX_INSTANCES = 200;

export const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,252}$/;

/** It is also the worker's id, so both rules apply. */
const InstanceId = z
  .string()
  .regex(
    WORKER_ID,
    "must be 1 to 64 letters, digits, hyphens and underscores, beginning with a letter or digit",
  );

/** A worker process that should run on a host: `flotilla worker` with these flags and variables. */
export const DesiredInstance = z
  .object({
    instance_id: InstanceId,
    args: z.array(z.string().max(4_096)).max(100),
    env: z.record(z.string().max(200), z.string().max(32_768)),
    /** A different number restarts it, even if its agent gave it up. */
    generation: z.int().min(0).default(0),
  })
  .openapi("DesiredInstance");
export type DesiredInstance = z.infer<typeof DesiredInstance>;

const INSTANCE_STATES = ["starting", "running", "backoff", "stopping", "exited"] as const;
export const InstanceReport = z
  .strictObject({
    instance_id: z.string().regex(PULL_WORKER_ID),
    pid: z.int().min(1).nullable().default(null),
    state: z.enum(INSTANCE_STATES),
    started_at: z.iso.datetime({ offset: true }).nullable().default(null),
    exit_code: z.int().nullable().default(null),
    restarts: z.int().min(0).default(0),
  })
  .openapi("InstanceReport");
export type InstanceReport = z.infer<typeof InstanceReport>;

/** What runs on a host, as its agent last reported. */
export const AgentReport = z
  .strictObject({
    gpus: z.array(GpuReading).max(64).default([]),
    children: z.array(InstanceReport).max(1_000).default([]),
    version: z.string().max(64).default(""),
  })
  .openapi("AgentReport");
export type AgentReport = z.infer<typeof AgentReport>;

/** With `agent_id`, which an agent keeps over its restarts: a second agent of one host is refused while the first lives. */
export const SyncAgent = z
  .strictObject({
    // Its fields and not the schema: "extends" of two that take no other keys would take nothing.
    ...AgentReport.shape,
    agent_id: z.string().min(8).max(64).nullable().default(null),
  })
  .openapi("SyncAgent");
export type SyncAgent = z.infer<typeof SyncAgent>;

const Desired = z.object({ instances: z.array(DesiredInstance) });
export const AgentSynced = z.object({ desired: Desired, revision: z.int() }).openapi("AgentSynced");
export type AgentSynced = z.infer<typeof AgentSynced>;

export const Agent = z
  .object({
    host: z.string(),
    state: z.enum(["active", "offline"]),
    desired: Desired,
    revision: z.int(),
    report: AgentReport.nullable(),
    last_seen_at: z.string().nullable(),
  })
  .openapi("Agent");
export type Agent = z.infer<typeof Agent>;
export const AgentList = z.object({ agents: z.array(Agent), ...NextCursor }).openapi("AgentList");

/**
 * Item of GET /workers/elastic/inventory. `actual`: what its agent last reported; unknown when the instance was never
 * seen there.
 */
export const Instance = z
  .object({
    instance_id: z.string(),
    host: z.string(),
    desired: z.enum(["running", "stopped"]),
    actual: z.enum([...INSTANCE_STATES, "unknown"]),
    pid: z.int().nullable(),
    worker_id: z.string().nullable(),
    started_at: z.string().nullable(),
    exit_code: z.int().nullable(),
  })
  .openapi("Instance");
export type Instance = z.infer<typeof Instance>;
export const InstanceList = z.object({ instances: z.array(Instance) }).openapi("InstanceList");
/**
 * Answer of POST /workers/elastic/stop: of `asked` instances, `stopped` were ordered to end; the others did not exist.
 */
export const InstancesStopped = InstanceList.extend({
  asked: z.int(),
  stopped: z.int(),
}).openapi("InstancesStopped");
export const InstanceInventory = InstanceList.extend(NextCursor).openapi("InstanceInventory");

/**
 * Body of POST /workers/elastic/spawn. Without `host`: the live agent with the fewest instances. With `instance_id` the
 * call may be repeated: an instance of that name that should already run is left alone.
 */
export const SpawnInstances = z
  .strictObject({
    instance_id: InstanceId.optional(),
    host: z.string().regex(HOST_NAME).optional(),
    count: z.int().min(1).max(MAX_INSTANCES).default(1),
    workloads: z.array(Slug).max(1_000).optional(),
    slots: z.int().min(1).max(MAX_SLOTS).optional(),
  })
  .refine((b) => b.instance_id === undefined || b.count === 1, {
    error: "must be 1 with an instance_id",
    path: ["count"],
  })
  .openapi("SpawnInstances");
export type SpawnInstances = z.infer<typeof SpawnInstances>;

/** Body of POST /workers/elastic/stop: one by its id, or the `count` newest of a host. */
export const StopInstances = z
  .strictObject({
    instance_id: z.string().regex(PULL_WORKER_ID).optional(),
    host: z.string().regex(HOST_NAME).optional(),
    count: z.int().min(1).max(MAX_INSTANCES).default(1),
  })
  .refine((b) => (b.instance_id === undefined) !== (b.host === undefined), {
    error: "give either instance_id or host",
    path: ["instance_id"],
  })
  .openapi("StopInstances");
export type StopInstances = z.infer<typeof StopInstances>;

export const RestartAsked = z
  .object({ worker_id: z.string(), host: z.string() })
  .openapi("RestartAsked");

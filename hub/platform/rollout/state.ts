import { z } from "zod";
import type { SettingsRepo } from "#hub/platform/db/library-types.ts";
import type { Log } from "#shared/kit/log.ts";
import { WorkerKind } from "#shared/protocol/schema/updates.ts";

/** One worker's update, from the order to go to its end. Times epoch ms. */
export const Turn = z.object({
  kind: WorkerKind,
  worker_id: z.string(),
  /** The version it had before. */
  from: z.string(),
  target: z.string(),
  canary: z.boolean(),
  state: z.enum(["ordered", "proving", "done", "failed", "off"]),
  /** Beginning of this state. */
  since: z.number(),
  /** Since when it has been away, back but unwell, or unable to update; null otherwise. */
  away_since: z.number().nullable().default(null),
  unwell_since: z.number().nullable().default(null),
  refused_since: z.number().nullable().default(null),
  error: z.string().nullable().default(null),
  /** It ran the version, which failed, so it will not take it again. */
  rolled_back: z.boolean().default(false),
});
export type Turn = z.infer<typeof Turn>;

/** Every decision about versions, for all hubs of the fleet: one value in the database. */
export const RolloutState = z.object({
  /** The version that every worker should have; null before a hub has looked for the first time. */
  target: z.string().nullable().default(null),
  paused_since: z.number().nullable().default(null),
  pin: z.string().nullable().default(null),
  worker_pins: z.record(z.string(), z.string()).default({}),
  /** The version that an operator approved. */
  approved: z.string().nullable().default(null),
  /** Kinds for which a canary has shown that the target works. */
  proven: z.array(WorkerKind).default([]),
  failure: z
    .object({
      kind: WorkerKind,
      worker_id: z.string(),
      version: z.string(),
      error: z.string(),
      at: z.number(),
    })
    .nullable()
    .default(null),
  turns: z.record(z.string(), Turn).default({}),
  /** Earlier targets of the fleet, the newest first. */
  history: z.array(z.string()).default([]),
  /** When a hub last looked: a control plane next to it leaves the decisions to the hub. */
  hub_at: z.number().nullable().default(null),
});
export type RolloutState = z.infer<typeof RolloutState>;

export const FIRST_STATE: RolloutState = RolloutState.parse({});

export const turnKey = ({ kind, worker_id }: Pick<Turn, "kind" | "worker_id">): string =>
  `${kind}/${worker_id}`;

/** The state with the mark of its write: a write counts only if no other process has written since. */
export interface StoredState {
  state: RolloutState;
  written_at: number | null;
}

/** Outside of the prefixes under which settings are listed. */
const STATE_KEY = "fleet_rollout";

export async function readState(
  settings: Pick<SettingsRepo, "find">,
  log: Log,
): Promise<StoredState> {
  const [row] = await settings.find([STATE_KEY]);
  if (!row) return { state: FIRST_STATE, written_at: null };
  const parsed = RolloutState.safeParse(row.value);
  if (!parsed.success)
    log.error(
      { err: parsed.error.message },
      "the state of updates is not readable; it begins anew",
    );
  return { state: parsed.success ? parsed.data : FIRST_STATE, written_at: row.updated_at };
}

/** @returns what is stored now, or null when another process has written meanwhile, and nothing was changed. */
export async function writeState(
  settings: Pick<SettingsRepo, "add" | "replace">,
  before: StoredState,
  state: RolloutState,
  now: number,
): Promise<StoredState | null> {
  if (before.written_at === null)
    return (await settings.add(STATE_KEY, state, now)) ? { state, written_at: now } : null;
  // Marks never repeat, however much the clocks of the hubs differ.
  const written_at = Math.max(now, before.written_at + 1);
  const won = await settings.replace(STATE_KEY, state, { was: before.written_at, written_at });
  return won ? { state, written_at } : null;
}

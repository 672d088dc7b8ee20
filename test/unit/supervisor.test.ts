import { expect, test } from "bun:test";
import {
  decide,
  type Facts,
  LASTED_MS,
  RESTART_AGAIN_MS,
} from "#hub/pipeline/supervisor/decide.ts";
import type { SupervisedRow } from "#hub/platform/db/rows.ts";

const NOW = 10_000_000;
const ROW: SupervisedRow = {
  workload_id: 1,
  seq: 3,
  paused_at: null,
  last_run_id: 0,
  reset: true,
  problem: null,
  problem_at: null,
  told: false,
  action: null,
  reason: null,
  action_at: null,
};
const FACTS: Facts = {
  now: NOW,
  enabled: true,
  ready: 0,
  claimed: 0,
  failed: 0,
  runs: [],
  workers: 1,
  idle_slots: 2,
  limited: false,
  dead_instances: 0,
  broken: null,
};
/** Outcomes as stored: 0 success, 1 error, 2 timeout, 3 lease expired, 5 cancelled. Newest first. */
const runs = (...outcomes: number[]) =>
  outcomes.map((outcome, i) => ({
    run_id: 100 - i,
    outcome,
    error: outcome === 0 ? null : "boom",
    finished_at: NOW - 1 - i,
  }));
const times = (n: number, outcome: number) => Array<number>(n).fill(outcome);

interface Row {
  name: string;
  row?: Partial<SupervisedRow>;
  facts?: Partial<Facts>;
  /** What it does; `note`: it only remembers; null: nothing at all. */
  does: "pause" | "reset" | "restart" | "report" | "note" | null;
  set?: Partial<SupervisedRow>;
}
const since = (problem: "no_worker" | "stuck", ms: number): Partial<SupervisedRow> => ({
  problem,
  problem_at: NOW - ms,
});
const NOBODY = { ready: 5, workers: 0, idle_slots: 0 };
const STUCK = { ready: 5 };

const TABLE: Row[] = [
  { name: "nothing to do", does: null },
  {
    name: "twenty failures in a row pause it",
    facts: { runs: runs(...times(20, 1)) },
    does: "pause",
    set: { last_run_id: 100, reset: false, action: "pause", action_at: NOW },
  },
  {
    name: "every way to fail counts",
    facts: { runs: runs(...times(10, 2), ...times(10, 3)) },
    does: "pause",
  },
  { name: "nineteen do not", facts: { runs: runs(...times(19, 1)) }, does: null },
  { name: "one success in twenty does", facts: { runs: runs(...times(19, 1), 0) }, does: null },
  { name: "a cancelled run is no failure", facts: { runs: runs(...times(19, 1), 5) }, does: null },
  {
    name: "a workload that is off is left alone, whatever its runs say",
    facts: { enabled: false, runs: runs(...times(20, 1)), ...NOBODY },
    does: null,
  },
  { name: "a pause stands", row: { paused_at: 5 }, facts: { enabled: false }, does: null },
  {
    name: "a pause is over when somebody switches it on",
    row: { paused_at: 5, reset: false },
    facts: { runs: runs(...times(20, 1)) },
    does: "note",
    set: { paused_at: null },
  },
  {
    name: "the first success after a pause resets what failed",
    row: { reset: false, last_run_id: 70 },
    facts: { runs: runs(0, 1, 1), failed: 7 },
    does: "reset",
    set: { reset: true, last_run_id: 100 },
  },
  {
    name: "with nothing failed there is nothing to reset",
    row: { reset: false },
    facts: { runs: runs(0) },
    does: "note",
    set: { reset: true, last_run_id: 100 },
  },
  { name: "without a pause nothing is reset", facts: { runs: runs(0), failed: 7 }, does: null },
  {
    name: "twenty more failures after a pause pause it again",
    row: { reset: false, last_run_id: 70 },
    facts: { runs: runs(...times(20, 1)) },
    does: "pause",
  },
  {
    name: "no live worker is noted first",
    facts: NOBODY,
    does: "note",
    set: { problem: "no_worker", problem_at: NOW, told: false },
  },
  {
    name: "and told when it lasts",
    row: since("no_worker", LASTED_MS.no_worker),
    facts: NOBODY,
    does: "report",
    set: { told: true, action: "report" },
  },
  {
    name: "not before",
    row: since("no_worker", LASTED_MS.no_worker - 1),
    facts: NOBODY,
    does: null,
  },
  {
    name: "and once",
    row: { ...since("no_worker", LASTED_MS.no_worker * 9), told: true },
    facts: NOBODY,
    does: null,
  },
  {
    name: "dead instances are started again",
    row: since("no_worker", LASTED_MS.no_worker),
    facts: { ...NOBODY, dead_instances: 2 },
    does: "restart",
  },
  {
    name: "not at once again",
    row: {
      ...since("no_worker", RESTART_AGAIN_MS),
      action: "restart",
      action_at: NOW - RESTART_AGAIN_MS + 1,
    },
    facts: { ...NOBODY, dead_instances: 2 },
    does: null,
  },
  {
    name: "but some time later",
    row: {
      ...since("no_worker", RESTART_AGAIN_MS),
      action: "restart",
      action_at: NOW - RESTART_AGAIN_MS,
    },
    facts: { ...NOBODY, dead_instances: 2 },
    does: "restart",
  },
  {
    name: "code that does not load is told at once, with where and why",
    facts: { ready: 5, broken: "its code does not load on w1: SyntaxError" },
    does: "report",
    set: {
      problem: "broken_executor",
      problem_at: NOW,
      told: true,
      reason: "its code does not load on w1: SyntaxError",
    },
  },
  {
    name: "and once",
    row: { problem: "broken_executor", problem_at: NOW - 1, told: true },
    facts: { ready: 5, broken: "its code does not load on w1: SyntaxError" },
    does: null,
  },
  {
    name: "beside live workers too",
    row: { problem: "dead_instances", problem_at: NOW - LASTED_MS.dead_instances },
    facts: { ready: 5, claimed: 4, dead_instances: 1 },
    does: "restart",
  },
  { name: "not while nothing is ready", facts: { dead_instances: 1 }, does: null },
  {
    name: "a worker that came ends it",
    row: { ...since("no_worker", 90_000), told: true },
    facts: { ready: 5, claimed: 2 },
    does: "note",
    set: { problem: null, problem_at: null, told: false },
  },
  {
    name: "idle slots beside ready tasks are noted",
    facts: STUCK,
    does: "note",
    set: { problem: "stuck" },
  },
  {
    name: "and told when nothing is run for long",
    row: since("stuck", LASTED_MS.stuck),
    facts: { ...STUCK, runs: [{ ...(runs(0)[0] as Facts["runs"][number]), finished_at: 1 }] },
    does: "report",
  },
  {
    name: "a run that ended since then is progress",
    row: since("stuck", LASTED_MS.stuck),
    facts: { ...STUCK, runs: runs(0) },
    does: "note",
    set: { problem: null },
  },
  {
    name: "a claimed task decides nothing",
    row: since("stuck", LASTED_MS.stuck),
    facts: { ...STUCK, claimed: 1 },
    does: null,
  },
  { name: "a limit of its own is no problem", facts: { ...STUCK, limited: true }, does: null },
  { name: "busy workers are no problem", facts: { ...STUCK, idle_slots: 0 }, does: null },
];

for (const { name, row, facts, does, set } of TABLE)
  test(`supervisor: ${name}`, () => {
    const decision = decide({ ...ROW, ...row }, { ...FACTS, ...facts });
    expect(decision === null ? null : (decision.act ?? "note")).toBe(does);
    if (set) expect(decision?.set).toMatchObject(set);
    if (decision?.act) {
      expect(decision.reason.length).toBeGreaterThan(20);
      expect(decision.set).toMatchObject({ action: decision.act, reason: decision.reason });
    }
  });

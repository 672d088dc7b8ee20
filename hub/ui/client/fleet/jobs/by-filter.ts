import type { Act, Action, Made } from "../../failures/acting.ts";
import { call } from "../../lib/http.ts";
import { type JobFilters, queryOf } from "./job-filters.ts";

/** Filters of a list, as the calls take them that act on all that it finds (rules/failures#acting-on-jobs). */
export type Selection = Readonly<Record<string, string>>;
export type JobAction = Exclude<Action, "move">;

/** A result is a state, told apart by what the page answered. */
const STATE_OF_RESULT: Readonly<Record<string, string>> = {
  completed: "completed",
  http_error: "completed",
  failed: "failed",
  cancelled: "cancelled",
};
const OPEN: ReadonlySet<string> = new Set(["queued", "running"]);

const setOnes = (filters: JobFilters): [string, string][] =>
  Object.entries(queryOf(filters)).filter(([, value]) => value !== "");

/** Whether the list is less than everything: all captures of the fleet are never meant. */
export const isFiltered = (filters: JobFilters): boolean => setOnes(filters).length > 0;

/** The state that the filters leave, "" for any. Without one the API means failed jobs, or open ones to cancel. */
const stateOf = ({ status, result }: JobFilters): string =>
  status === "" ? (STATE_OF_RESULT[result] ?? "") : status;

export function selectionOf(filters: JobFilters): Selection {
  const status = stateOf(filters);
  const selection = Object.fromEntries(setOnes(filters));
  return status === "" ? selection : { ...selection, status };
}

/** What can be done with all that match, with the words of its button. */
export function actionsFor(filters: JobFilters): { action: JobAction; label: string }[] {
  if (!isFiltered(filters)) return [];
  const status = stateOf(filters);
  if (status === "")
    return [
      { action: "retry", label: "Retry the failed…" },
      { action: "cancel", label: "Cancel what waits or runs…" },
      { action: "delete", label: "Delete the failed…" },
    ];
  if (OPEN.has(status)) return [{ action: "cancel", label: "Cancel…" }];
  return [
    { action: "retry", label: "Retry…" },
    { action: "delete", label: "Delete…" },
  ];
}

/** The filters that a selection names, and how many it may be. */
type Body = object & { dry_run: boolean; at_most?: number };
type Send = (action: JobAction, body: Body) => Promise<Made>;

const send: Send = (action, json) => call(`POST /jobs/${action}`, { json });

/**
 * Acts on all that a selection finds. Where nothing but a state narrows it, the API wants to know how many it may be: what
 * the preview named, less what was done since.
 */
export function actOnAll(selection: Selection, post: Send = send): Act {
  const is_narrowed = Object.keys(selection).some((name) => name !== "status" && name !== "result");
  let left: number | undefined;
  const limitOf = (asked: number | undefined) => asked ?? (is_narrowed ? undefined : left);
  return async (action, { dry_run, at_most }) => {
    if (action === "move") throw new Error("captures have no other queue");
    if (dry_run) {
      const found = await post(action, { ...selection, dry_run });
      left = found.matched;
      return found;
    }
    const limit = limitOf(at_most);
    const body: Body = { ...selection, dry_run };
    if (limit !== undefined) body.at_most = limit;
    const made = await post(action, body);
    if (left !== undefined) left -= made.matched;
    return made;
  };
}

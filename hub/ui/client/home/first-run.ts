import { useState } from "react";

/** The four steps of a new installation (rules/web-app#first-run). */

export const STEPS = ["capture", "session", "tasks", "engine"] as const;
export type Step = (typeof STEPS)[number];

/** What this browser remembers; what is done is known by the server alone. */
export interface FirstRun {
  /** `on`: this browser saw the installation empty, and goes on until the path is done. */
  path: "unseen" | "on" | "hidden";
  skipped: Step[];
}

const KEY = "flotilla-first-run";
const UNSEEN: FirstRun = { path: "unseen", skipped: [] };

const isStep = (text: unknown): text is Step => STEPS.some((step) => step === text);

/** What people and extensions write there is not believed. */
export function readFirstRun(stored: string | null): FirstRun {
  try {
    const { path, skipped } = JSON.parse(stored ?? "") as Partial<FirstRun>;
    return {
      path: path === "on" || path === "hidden" ? path : "unseen",
      skipped: Array.isArray(skipped) ? skipped.filter(isStep) : [],
    };
  } catch {
    return UNSEEN;
  }
}

/**
 * Whether the path is shown: while nothing exists, and then until every step is done or left out, unless somebody hid it.
 * @param done of the steps that this server has.
 */
export function showsPath(
  { path, skipped }: FirstRun,
  done: Partial<Record<Step, boolean>>,
): boolean {
  const steps = Object.entries(done) as [Step, boolean][];
  const open = steps.filter(([step, is_done]) => !is_done && !skipped.includes(step));
  if (path === "hidden" || open.length === 0) return false;
  // An engine alone is no use of it: it may have come with the configuration.
  const used = steps.some(([step, is_done]) => is_done && step !== "engine");
  return path === "on" || !used;
}

export function useFirstRun() {
  const [state, setState] = useState(() => readFirstRun(localStorage.getItem(KEY)));
  const change = (changed: Partial<FirstRun>) => {
    const next = { ...state, ...changed };
    localStorage.setItem(KEY, JSON.stringify(next));
    setState(next);
  };
  return [state, change] as const;
}

import { OPENING_KINDS } from "#shared/protocol/opening-kinds.ts";
import type { ChosenStep } from "./chosen.ts";

/** What is done to tabs before a step. Tabs have the numbers of the recording. */
export type TabMove =
  | { kind: "open"; tab: number; url: string | null }
  | { kind: "close"; tab: number };

type TabStep = Extract<ChosenStep, { kind: "tab" }>;
/** A step that is done in a tab, and leads to none. */
export type DoneStep = Exclude<ChosenStep, TabStep>;

/** A step with what has to happen around it so that it finds its tab. */
export interface PlannedStep {
  moves: TabMove[];
  step: DoneStep;
  /** Tabs that the page opens when it is done, as far as later steps are in them. */
  opens: number[];
}

/** The step that opened a tab; -1: none of these. */
function openerOf(steps: readonly ChosenStep[], at: number): number {
  const { opener_step } = steps[at] as TabStep;
  const before = steps.slice(0, at);
  return opener_step === undefined
    ? // A worker of an earlier version does not tell.
      before.findLastIndex(({ kind }) => OPENING_KINDS.has(kind))
    : before.findIndex(({ id, kind }) => id === opener_step && kind !== "tab");
}

/** Which tabs each step opens, by its place in the list. */
function openedBySteps(steps: readonly ChosenStep[]): Map<number, number[]> {
  const opened = new Map<number, number[]>();
  const seen = new Set(steps.slice(0, 1).map(({ tab }) => tab));
  for (const [i, step] of steps.entries()) {
    if (seen.has(step.tab)) continue;
    seen.add(step.tab);
    if (step.kind !== "tab" || step.opened_by !== "page") continue;
    const opener = openerOf(steps, i);
    if (opener >= 0) opened.set(opener, [...(opened.get(opener) ?? []), step.tab]);
  }
  return opened;
}

/** Where a tab is opened that nothing leads to. */
export const addressOf = (step: DoneStep): string | null =>
  step.kind !== "navigate" && /^https?:/.test(step.page) ? step.page : null;

/** How the steps find their tabs: each is opened once, by what opened it, and closed where it was. */
export function planTabs(steps: readonly ChosenStep[]): PlannedStep[] {
  const opened = openedBySteps(steps);
  const there = new Set([steps[0]?.tab ?? 0]);
  const planned: PlannedStep[] = [];
  let moves: TabMove[] = [];
  for (const [i, step] of steps.entries()) {
    if (step.kind === "tab") {
      const later = new Set(steps.slice(i).flatMap((one) => (one.kind === "tab" ? [] : [one.tab])));
      for (const tab of step.closed ?? [])
        if (!later.has(tab) && there.delete(tab)) moves.push({ kind: "close", tab });
      continue;
    }
    if (!there.has(step.tab)) {
      moves.push({ kind: "open", tab: step.tab, url: addressOf(step) });
      there.add(step.tab);
    }
    const opens = opened.get(i) ?? [];
    for (const tab of opens) there.add(tab);
    planned.push({ moves, step, opens });
    moves = [];
  }
  return planned;
}

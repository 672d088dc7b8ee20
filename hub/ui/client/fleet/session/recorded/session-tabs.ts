import { type ChosenStep, startOf } from "./chosen.ts";
import { type DoneStep, planTabs, type TabMove } from "./tabs.ts";

/** What a session is asked about its tabs, which it knows by their place, the oldest first. */
export type TabCall =
  | { op: "new"; url: string | null }
  | { op: "select"; index: number }
  /** Until there are fewer than `count`; what does not close by itself is closed. */
  | { op: "closed"; index: number; count: number }
  /** Until there are `count`. */
  | { op: "opened"; count: number };

export interface SessionStep {
  before: TabCall[];
  step: DoneStep;
  /** It opens a tab, which is to be the active one. */
  popup: boolean;
  after: TabCall[];
}

/** The tabs of a session while the steps are done in it. */
function createTabs(first: number) {
  const tabs = [first];
  let active: number | null = first;
  return {
    move: (move: TabMove): TabCall => {
      if (move.kind === "open") {
        tabs.push(move.tab);
        active = move.tab;
        return { op: "new", url: move.url };
      }
      const count = tabs.length;
      const index = tabs.indexOf(move.tab);
      tabs.splice(index, 1);
      if (active === move.tab) active = null;
      return { op: "closed", index, count };
    },
    select: (tab: number): TabCall[] => {
      if (active === tab) return [];
      active = tab;
      return [{ op: "select", index: tabs.indexOf(tab) }];
    },
    opened: (opens: readonly number[], popup: boolean): TabCall[] => {
      tabs.push(...opens);
      if (popup) active = opens[0] ?? active;
      return popup || opens.length === 0 ? [] : [{ op: "opened", count: tabs.length }];
    },
  };
}

/** The steps with what a session has to be asked so that each is done in its tab. */
function sessionSteps(steps: readonly ChosenStep[]): SessionStep[] {
  const tabs = createTabs(steps[0]?.tab ?? 0);
  return planTabs(steps).map(({ moves, step, opens }) => {
    const before = [...moves.map(tabs.move), ...tabs.select(step.tab)];
    const popup = step.kind === "click" && opens.length === 1;
    return { before, step, popup, after: tabs.opened(opens, popup) };
  });
}

/** The same for a session that is opened at the address that the steps begin with. */
export function stepsAfterStart(steps: readonly ChosenStep[]): SessionStep[] {
  const all = sessionSteps(steps);
  return startOf(steps).starts_at === null ? all : all.slice(1);
}

/** What a program says once, if it asks for it. */
export type TabHelpers = Record<"opened" | "closed", string>;

/** The helpers that the steps need, in the language of the helpers. */
export function helpersFor(steps: readonly SessionStep[], helpers: TabHelpers): string[] {
  const calls = steps.flatMap(({ before, after }) => [...before, ...after]);
  return (["opened", "closed"] as const)
    .filter((name) => calls.some(({ op }) => op === name))
    .map((name) => helpers[name]);
}

import type { RecordedInput } from "#shared/protocol/schema/recorded-input.ts";
import type { Protocol } from "../cdp/connection.ts";
import { createSteps, type NewStep } from "./steps.ts";

/** The tabs of a browser by the order in which they were opened. */
export interface TabList {
  opened(info: Protocol.Target.TargetInfo): void;
  numberOf(target_id: string): number;
  /** Null for what is no tab. */
  known(target_id: string): number | null;
  openedBy(tab: number): "page" | "person";
}

export function createTabList(): TabList {
  const numbers = new Map<string, number>();
  const by_page = new Set<number>();
  const numberOf = (target_id: string): number => {
    const known = numbers.get(target_id) ?? numbers.size;
    numbers.set(target_id, known);
    return known;
  };
  return {
    numberOf,
    known: (target_id) => numbers.get(target_id) ?? null,
    opened: ({ targetId, openerId }) => {
      const tab = numberOf(targetId);
      if (openerId !== undefined) by_page.add(tab);
    },
    openedBy: (tab) => (by_page.has(tab) ? "page" : "person"),
  };
}

/** The steps of a recording with who waits for more of them. */
export interface StepList {
  /** The tab that needs no step to get to. */
  begin(tab: number): void;
  /** A page opened it, which is in the tab `by`. */
  opened(tab: number, by: number): void;
  closed(tab: number): void;
  add(next: NewStep): void;
  state(): RecordedInput;
  /** Resolves when there is more than this revision, or the signal aborts. */
  beyond(revision: number, signal: AbortSignal): Promise<void>;
  /** False when it had ended already. */
  end(why: string | null): boolean;
}

export function createStepList({ openedBy }: Pick<TabList, "openedBy">): StepList {
  const steps = createSteps();
  const waiting = new Set<() => void>();
  const opener_steps = new Map<number, number | null>();
  let closed: number[] = [];
  let revision = 0;
  let tab: number | null = null;
  let end: { why: string | null } | null = null;
  const tell = () => {
    revision += 1;
    for (const wake of waiting) wake();
    waiting.clear();
  };
  const change = (at: number, page: string) => {
    const opener_step = opener_steps.get(at) ?? null;
    const by = { tab: at, page, opened_by: openedBy(at), opener_step };
    const step = closed.length > 0 ? { kind: "tab" as const, ...by, closed } : null;
    if (steps.add({ step: step ?? { kind: "tab", ...by }, field: null })) closed = [];
  };
  return {
    begin: (at) => {
      tab = at;
    },
    opened: (at, by) => void opener_steps.set(at, steps.lastGesture(by)),
    closed: (at) => {
      opener_steps.delete(at);
      // Nobody misses one in which nothing was done.
      if (steps.list().some((step) => step.tab === at)) closed = [...closed, at];
    },
    add: (next) => {
      if (end !== null) return;
      const { tab: at, page } = next.step;
      if (tab !== null && at !== tab) change(at, page);
      tab = at;
      steps.add(next);
      tell();
    },
    state: () => ({
      on: end === null,
      revision,
      steps: steps.list(),
      full: steps.full,
      ended: end?.why ?? null,
    }),
    beyond: (than, signal) =>
      new Promise<void>((resolve) => {
        if (revision > than || signal.aborted || end !== null) return resolve();
        waiting.add(resolve);
        const late = () => waiting.delete(resolve) && resolve();
        signal.addEventListener("abort", late, { once: true });
      }),
    end: (why) => {
      if (end !== null) return false;
      end = { why };
      tell();
      return true;
    },
  };
}

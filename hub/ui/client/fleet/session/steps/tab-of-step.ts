import type { Tab } from "#shared/protocol/schema/session.ts";
import type { ChosenStep } from "../recorded/chosen.ts";

/** What is asked of the session. */
export interface TabCalls {
  tabs(): Promise<Tab[]>;
  select(index: number): Promise<unknown>;
  /** A moment, in which a page opens a tab. */
  wait(): Promise<void>;
}

const TRIES = 20;
/** As the recorder writes the page of a step. */
const pageOf = (url: string): string => url.split(/[?#]/)[0] ?? "";

const refusal = (page: string, found: number): Error =>
  new Error(
    found === 0
      ? `No tab shows ${page || "the page"} where this step was recorded: open it, choose its tab, and run the step there.`
      : `Several tabs show ${page}: close the others, or choose the right one and run the step there.`,
  );

/** Goes to the one other tab that shows the page of the step. @throws Error in words for people */
export async function goToTab({ page }: ChosenStep, calls: TabCalls): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    const there = (await calls.tabs()).filter(({ url, active }) => !active && pageOf(url) === page);
    const [only] = there;
    if (only && there.length === 1) {
      await calls.select(only.index);
      return;
    }
    if (there.length > 1 || tried === TRIES) throw refusal(page, there.length);
    await calls.wait();
  }
}

/**
 * Goes to the tab of a step that is run alone. A person who looks at its page has chosen the tab; so has one who has no
 * other tab, as long as the recording began in that tab.
 * @throws Error in words for people
 */
export async function goToTabOfOne(
  step: ChosenStep,
  first_tab: number,
  calls: TabCalls,
): Promise<void> {
  const all = await calls.tabs();
  const [active] = all.filter((tab) => tab.active);
  if (active && pageOf(active.url) === step.page) return;
  if (all.length === 1 && step.tab === first_tab) return;
  const there = all.filter(({ url }) => pageOf(url) === step.page);
  const [only] = there;
  if (!only || there.length > 1) throw refusal(step.page, there.length);
  await calls.select(only.index);
}

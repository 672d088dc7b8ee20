import { expect, test } from "bun:test";
import type { ChosenStep } from "#hub/ui/client/fleet/session/recorded/chosen.ts";
import {
  runOneStep,
  runSteps,
  type StepCalls,
} from "#hub/ui/client/fleet/session/steps/run-steps.ts";

/** In which tab the app tries recorded steps (rules/recorded-input#what-steps-become). */

const SHOP = "https://shop.test/";
const PAY = "https://pay.test/";
const OTHER = "https://other.test/";

const click = (id: number, tab: number, page: string): ChosenStep => ({
  id,
  kind: "click",
  tab,
  page,
  role: "button",
  name: "It",
  frame: [],
  click_count: 1,
  selectors: [{ by: "css", selector: `#b${id}`, matches: 1 }],
});
const START: ChosenStep = { id: 1, kind: "navigate", tab: 0, page: SHOP, url: SHOP };
const POPUP: ChosenStep = {
  id: 3,
  kind: "tab",
  tab: 1,
  page: PAY,
  opened_by: "page",
  opener_step: 2,
};
const STEPS = [START, click(2, 0, SHOP), POPUP, click(4, 1, PAY), click(5, 0, SHOP)];

/** A session with these tabs, the first one active; `opens` comes when somebody waits. */
function sessionOf(urls: string[], opens: string[] = []) {
  let active = 0;
  const done: string[] = [];
  const said: Record<number, string> = {};
  const calls: StepCalls = {
    tabs: async () =>
      urls.map((url, index) => ({ index, url, title: "", active: index === active })),
    select: async (index) => {
      active = index;
    },
    wait: async () => {
      urls.push(...opens.splice(0));
    },
    run: async (action) => {
      done.push(`${action.kind} in ${urls[active]}`);
      return 1;
    },
    tell: ({ id }, { state, error }) => {
      said[id] = error ?? state;
    },
    isStopped: () => false,
    errorText: (err) => (err as Error).message,
  };
  return { calls, done, said };
}

test("each step is tried in its tab, also in one that a page takes a moment to open", async () => {
  const { calls, done, said } = sessionOf([SHOP], [`${PAY}?order=7`]);
  await runSteps(STEPS, calls);
  expect(done).toEqual([
    `navigate in ${SHOP}`,
    `click in ${SHOP}`,
    `click in ${PAY}?order=7`,
    `click in ${SHOP}`,
  ]);
  expect(said).toEqual({ 1: "ok", 2: "ok", 4: "ok", 5: "ok" });
});

test("a step whose tab is not there, or cannot be told, is refused, and none follows it", async () => {
  const without = sessionOf([SHOP]);
  await runSteps(STEPS, without.calls);
  expect(without.done).toHaveLength(2);
  expect(without.said[4]).toStartWith(`No tab shows ${PAY} where this step was recorded`);
  const twice = sessionOf([SHOP, PAY, PAY]);
  await runSteps(STEPS, twice.calls);
  expect(twice.done).toHaveLength(2);
  expect(twice.said).toMatchObject({ 4: expect.stringMatching(/^Several tabs show/) });
});

test("a step that is run alone goes to its tab, and is refused where no tab is its own", async () => {
  const there = sessionOf([SHOP, PAY]);
  await runOneStep(click(4, 1, PAY), 0, there.calls);
  expect(there.done).toEqual([`click in ${PAY}`]);
  // The one tab that the recording began in may have moved on.
  const moved = sessionOf([OTHER]);
  await runOneStep(click(2, 0, SHOP), 0, moved.calls);
  expect(moved.done).toEqual([`click in ${OTHER}`]);
  const elsewhere = sessionOf([OTHER]);
  await runOneStep(click(4, 1, PAY), 0, elsewhere.calls);
  expect(elsewhere.done).toEqual([]);
  expect(elsewhere.said[4]).toStartWith("No tab shows");
});

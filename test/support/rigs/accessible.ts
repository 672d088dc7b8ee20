import { expect } from "bun:test";
import axe from "axe-core";
import type { Page } from "playwright-core";

const kept = globalThis as { flotillaUiJudged?: Set<string> };
kept.flotillaUiJudged ??= new Set();
/** Views that axe has judged: it takes half a second on two cores, so each is judged once in a process. */
const judged = kept.flotillaUiJudged;

/** What is shown, whichever record it is of: the page, its tab and the dialogs that are open. */
async function viewOf(page: Page): Promise<string> {
  const { pathname, searchParams } = new URL(page.url());
  const [, ui, name, id] = pathname.split("/");
  const names = [...searchParams.keys()].filter((key) => key !== "tab").sort();
  const dialogs = await page.getByRole("dialog").getByRole("heading").allTextContents();
  const title = await page.getByRole("heading", { level: 2 }).allTextContents();
  return JSON.stringify([
    ui,
    name,
    id !== undefined,
    searchParams.get("tab"),
    names,
    dialogs,
    title,
  ]);
}

/**
 * Without what passed, and without the search for text outside of landmarks, which is never serious, axe takes two thirds of
 * its time. It is run in the page itself: `@axe-core/playwright`, which carries it into frames of other origins, takes nearly
 * twice as long, and the app has none of those.
 */
const OPTIONS: axe.RunOptions = {
  resultTypes: ["violations"],
  rules: { region: { enabled: false } },
  iframes: false,
};

/** axe finds nothing serious in what is shown; `kind` tells windows, colours and states of one view apart. */
export async function judgeAccess(page: Page, kind: string): Promise<void> {
  const view = `${kind} ${await viewOf(page)}`;
  if (judged.has(view)) return;
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    ([options]) => (globalThis as unknown as { axe: typeof axe }).axe.run(options),
    [OPTIONS] as const,
  );
  const serious = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes }) => ({
      id,
      help,
      nodes: nodes.map((node) => node.html).slice(0, 5),
    }));
  expect({ at: page.url(), serious }).toEqual({ at: page.url(), serious: [] });
  judged.add(view);
}

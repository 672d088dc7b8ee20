import { leftOut, openAddress } from "./addresses.ts";
import { type ChosenStep, nameOf, selectorOf, startOf, type Written } from "./chosen.ts";
import {
  helpersFor,
  type SessionStep,
  stepsAfterStart,
  type TabCall,
  type TabHelpers,
} from "./session-tabs.ts";

const text = (value: unknown): string => JSON.stringify(value);

/** The options of a call, where there are any: `, { frame: ["iframe"] }`. */
const options = (given: Record<string, unknown>): string => {
  const all = Object.entries(given).filter(([, value]) => value !== undefined);
  return all.length === 0
    ? ""
    : `, { ${all.map(([key, value]) => `${key}: ${text(value)}`).join(", ")} }`;
};

function tabLine(call: TabCall): string {
  if (call.op === "new")
    return `await session.tab("new"${call.url === null ? "" : `, ${text(call.url)}`});`;
  if (call.op === "select") return `await session.tab("select", ${call.index});`;
  if (call.op === "opened") return `await opened(${call.count});`;
  return `await closed(${call.index}, ${call.count});`;
}

/** What a script says once, if it asks for it. */
const HELPERS: TabHelpers = {
  opened: `/** Waits until the page has opened its tab. */
const opened = async (count) => {
  for (let n = 0; n < 100 && (await session.tabs()).length < count; n += 1) await session.wait(0.1);
};
`,
  closed: `/** A tab may close by itself; otherwise it is closed here. */
const closed = async (index, count) => {
  for (let n = 0; n < 50 && (await session.tabs()).length >= count; n += 1) await session.wait(0.1);
  if ((await session.tabs()).length >= count) await session.tab("close", index);
};
`,
};

function callOf({ step, popup }: SessionStep, notes: string[]): string[] {
  if (step.kind === "navigate") return [`await session.navigate(${text(openAddress(step))});`];
  if (step.kind === "scroll") return [`await session.scroll(${step.amount});`];
  const selector = text(selectorOf(step));
  const frame = step.frame.length > 0 ? step.frame : undefined;
  switch (step.kind) {
    case "click": {
      const click_count = step.click_count > 1 ? step.click_count : undefined;
      const wait_for = popup ? "popup" : undefined;
      return [`await session.click(${selector}${options({ click_count, frame, wait_for })});`];
    }
    case "fill": {
      if (step.secret === null)
        return [`await session.fill(${selector}, ${text(step.text)}${options({ frame })});`];
      const action = { kind: "fill", selector: selectorOf(step), frame, text: step.text };
      return [`await session.recipe([${text(action)}]);`];
    }
    case "select_option":
      return [
        `await session.select_option(${selector}, ${text(step.values)}${options({ frame })});`,
      ];
    case "check":
    case "uncheck":
      return [`await session.${step.kind}(${selector}${options({ frame })});`];
    case "press":
      return [`await session.press(${selector}, ${text(step.key)}${options({ frame })});`];
    case "upload": {
      notes.push(`Put the content of the files for “${nameOf(step)}” into the script.`);
      const files = step.files.map((name) => ({ name, content_base64: "" }));
      return [`await session.set_input_files(${selector}, ${text(files)}${options({ frame })});`];
    }
  }
}

/** The steps as a script for jobs of mode rerun, and for skills (rules/scripts#script-module). */
export function toScript(steps: readonly ChosenStep[]): Written<string> {
  const { starts_at } = startOf(steps);
  const notes = steps.flatMap((step) => (step.kind === "navigate" ? leftOut(step) : []));
  const all = stepsAfterStart(steps);
  const lines = all.flatMap((one) => [
    ...one.before.map(tabLine),
    ...callOf(one, notes),
    ...one.after.map(tabLine),
  ]);
  const helpers = helpersFor(all, HELPERS);
  const body = ['import { session } from "flotilla";\n', ...helpers, `${lines.join("\n")}\n`].join(
    "\n",
  );
  return { starts_at, body, notes: [...new Set(notes)] };
}

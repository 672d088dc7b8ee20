import { describe, expect, test } from "bun:test";
import {
  actionTitle,
  elementText,
  kindOf,
  targetOf,
} from "#hub/ui/client/fleet/player/model/act-words.ts";
import { actsOf, logOf, marksOf, tookText } from "#hub/ui/client/fleet/player/model/happenings.ts";
import { storyOf, type TimedStage } from "#hub/ui/client/fleet/player/model/story.ts";
import type { TimedEvent } from "#shared/recording/events.ts";

/** What the player says of a recording, line by line (rules/recordings#the-player). */

const event = (fields: object) => ({ at_ms: 1_000, ...fields }) as TimedEvent;

describe("an element", () => {
  test("is called by its role and name, or by what is written on it", () => {
    expect(elementText('role=button[name="Buy"]')).toBe("button “Buy”");
    expect(elementText('internal:role=link[name="Home"i]')).toBe("link “Home”");
    expect(elementText("role=main")).toBe("main");
    expect(elementText("text=Sign in")).toBe("“Sign in”");
    expect(elementText('label="Email"')).toBe("“Email”");
    expect(elementText("#buy > span")).toBe("#buy > span");
  });

  test("is what the arguments name first", () => {
    expect(targetOf({ role: "button", name: "Buy", selector: "#a" })).toBe("button “Buy”");
    expect([targetOf({ role: "main" }), targetOf({ locator: "#b" })]).toEqual(["main", "#b"]);
    expect([targetOf({}), targetOf(undefined), targetOf({ selector: 7 })]).toEqual(["", "", ""]);
  });
});

test("an action reads with what it was about; one that has no verb of its own by its name", () => {
  const said = (name: string, given?: Record<string, unknown>) => actionTitle(name, given);
  expect(said("goto", { url: "https://shop.test/cart?a=1" })).toBe("Go to /cart?a=1");
  expect(said("goto", { url: "nonsense" })).toBe("Go to nonsense");
  expect(said("fill", { selector: "#name", value: "Ada" })).toBe("Fill #name: Ada");
  expect(said("press", { key: "Enter" })).toBe("Press Enter");
  expect(said("set_input_files", { selector: "#f" })).toBe("Set input files #f");
  // A text without something that it goes into is not said: nobody knows where it went.
  expect(said("evaluate", { text: "1 + 1" })).toBe("Run in the page");
  const kinds = ["dblclick", "Fill the form", "reload", "sleep", "answer", "select", "odd"];
  expect(kinds.map(kindOf)).toEqual(["point", "type", "go", "wait", "say", "choose", "other"]);
});

test("what took time says so, and a step of an agent takes none", () => {
  const [click, step] = actsOf([
    event({ type: "action", name: "click", ms: 400, outcome: "done", at_ms: 1_400 }),
    event({ type: "step", of: "agent", text: "look", reason: "to see", at_ms: 1_500 }),
  ]);
  expect(click && tookText(click)).toBe("400 ms");
  expect(step && [tookText(step), step.title, step.said]).toEqual(["", "look", "to see"]);
});

test("a text of a page that never ends is cut, in lists and in marks", () => {
  const text = "x".repeat(5_000);
  const events = [
    event({ type: "error", text }),
    event({ type: "step", of: "recipe", text, outcome: "failed" }),
    event({ type: "navigation", url: `http://a.test/${text}` }),
  ];
  for (const mark of marksOf(events)) expect(mark.text.length).toBeLessThan(400);
  for (const { title, detail } of actsOf(events))
    expect(title.length + detail.length).toBeLessThan(700);
});

test("the log has tabs, dialogs, downloads, clients and notes in words", () => {
  const lines = logOf([
    event({ type: "stage", stage: "open", text: "a page" }),
    event({ type: "navigation", url: "http://a.test/", status: 404 }),
    event({ type: "tab", state: "opened", tab: "2", url: "http://b.test/" }),
    event({ type: "tab", state: "closed", tab: "2" }),
    event({ type: "dialog", kind: "confirm", state: "accepted", text: "Sure?" }),
    event({ type: "download", name: "a.pdf", state: "failed" }),
    event({ type: "download", name: "b.pdf", state: "done" }),
    event({ type: "cdp", by: "playwright", state: "connected" }),
    event({ type: "viewer", state: "connected", by: "anna", from: "10.0.0.7", mode: "view" }),
    event({ type: "viewer", state: "took_over" }),
    event({ type: "input", kind: "pointer", count: 2, x: 3, y: 4 }),
    event({ type: "note", text: "slow", level: "warn" }),
    event({ type: "console", level: "error", text: "not here" }),
  ]);
  expect(lines.map(({ name, text }) => `${name}: ${text}`)).toEqual([
    "stage: open: a page",
    "navigation: 404 http://a.test/",
    "tab: opened http://b.test/",
    "tab: closed 2",
    "dialog: confirm accepted: Sure?",
    "download: a.pdf failed",
    "download: b.pdf done",
    "cdp: playwright connected",
    "viewer: anna (10.0.0.7) came to watch",
    "viewer: somebody took over",
    "input: Pointer at 3, 4, 2×",
    "note: slow",
  ]);
  const loud = lines.map(({ level }) => level).filter((level) => level !== "info");
  expect(loud.join()).toBe("error,warn");
});

describe("the story", () => {
  const stage = (key: string, from: number, until: number | null): TimedStage => ({
    key,
    title: key,
    from,
    until,
    took_ms: null,
    tone: "ok",
    said: "",
  });
  const act = (at_ms: number) =>
    actsOf([event({ type: "step", of: "script", text: String(at_ms), at_ms })])[0] as never;
  const told = (stages: TimedStage[], ...moments: number[]) => {
    const { stages: all, loose } = storyOf(stages, moments.map(act), 1_000);
    return [all.map(({ acts }) => acts.map(({ title }) => title)), loose.map(({ title }) => title)];
  };
  test("has each act in the stage in which it began, and the late ones in the one before", () => {
    const stages = [stage("open", 1_000, 2_000), stage("run", 2_500, null)];
    expect(told(stages, 900, 1_050, 1_600, 0)).toEqual([[["0", "900", "1050"], ["1600"]], []]);
  });

  test("puts what no stage has into the last one, and without stages beside them", () => {
    const stages = [stage("open", 1_000, 1_200), stage("run", 3_000, 3_500)];
    expect(told(stages, 1_000)).toEqual([[[], ["1000"]], []]);
    expect(told([], 5)).toEqual([[], ["5"]]);
  });
});

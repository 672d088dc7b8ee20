import { describe, expect, test } from "bun:test";
import { elementText } from "#hub/ui/client/fleet/player/model/act-words.ts";
import { mergeEvents, readOnFrom } from "#hub/ui/client/fleet/player/model/events.ts";
import { errorMoments, failureMs, nextError } from "#hub/ui/client/fleet/player/model/failure.ts";
import { quietUntil, tickMoments, tickText } from "#hub/ui/client/fleet/player/model/film.ts";
import {
  actsOf,
  consoleOf,
  logOf,
  marksOf,
  unheardOf,
} from "#hub/ui/client/fleet/player/model/happenings.ts";
import { commandOf } from "#hub/ui/client/fleet/player/model/keys.ts";
import {
  actAt,
  beforeAndAfter,
  countUpTo,
  groupMarks,
  pageAt,
  stepFrom,
  stripMoments,
} from "#hub/ui/client/fleet/player/model/moment.ts";
import {
  mergeRequests,
  NO_REQUESTS,
  requestLine,
} from "#hub/ui/client/fleet/player/model/requests.ts";
import { isIn, rangeOf, storyOf } from "#hub/ui/client/fleet/player/model/story.ts";
import { Har, HarEntry } from "#shared/protocol/schema/har.ts";
import type { TimedEvent } from "#shared/recording/events.ts";
import { madeEntry } from "#test/support/rigs/made-recording.ts";

/** What the player makes of the events of a recording (rules/recordings#the-player). */

const EVENTS: TimedEvent[] = [
  {
    type: "start",
    at: "2026-01-01T00:00:00Z",
    of: "job",
    id: "j",
    mode: "screen",
    screen: "headful",
    at_ms: 0,
  },
  { type: "tab", state: "active", tab: "1", url: "about:blank", at_ms: 10 },
  { type: "navigation", url: "http://a.test/", status: 200, tab: "1", at_ms: 500 },
  {
    type: "console",
    level: "warning",
    text: "old",
    url: "http://a.test/x.js",
    line: 7,
    at_ms: 700,
  },
  {
    type: "action",
    name: "click",
    arguments: { selector: "h1" },
    ms: 400,
    outcome: "done",
    box: { x: 1, y: 2, width: 3, height: 4 },
    at_ms: 2_400,
  } as TimedEvent,
  { type: "tab", state: "opened", tab: "2", url: "http://b.test/", at_ms: 2_500 },
  { type: "tab", state: "active", tab: "2", at_ms: 2_600 },
  {
    type: "action",
    name: "fill",
    ms: 100,
    outcome: "failed",
    error: "no such element",
    at_ms: 5_000,
  },
  { type: "step", of: "agent", text: "look", reason: "to see", at_ms: 9_000 },
  { type: "input", kind: "keys", count: 4, by: "ada", at_ms: 9_500 },
  { type: "request_failed", url: "http://a.test/gone", error: "net::ERR_FAILED", at_ms: 9_600 },
  { type: "error", text: "x is not a function", at_ms: 9_700 },
  { type: "dialog", state: "accepted", kind: "confirm", text: "Sure?", at_ms: 9_800 },
];
const ACTS = actsOf(EVENTS);

describe("what was done", () => {
  test("an action begins as long before its event as it took, and says what it was told", () => {
    expect(ACTS.map(({ name, from_ms, at_ms, failed }) => [name, from_ms, at_ms, failed])).toEqual([
      ["click", 2_000, 2_400, false],
      ["fill", 4_900, 5_000, true],
      ["agent step", 9_000, 9_000, false],
    ]);
    expect(ACTS.map(({ detail }) => detail)).toEqual([
      "selector: h1",
      "no such element",
      "look — to see",
    ]);
  });

  test("the box of an action is shown while it goes on and a short while after", () => {
    expect(actAt(ACTS, 1_999)).toBeNull();
    expect(actAt(ACTS, 2_000)?.box).toEqual({ x: 1, y: 2, width: 3, height: 4 });
    expect(actAt(ACTS, 3_900)?.name).toBe("click");
    expect(actAt(ACTS, 3_901)).toBeNull();
  });

  test("steps go to the action before and behind, and end at the ends", () => {
    expect(stepFrom(ACTS, 0, 1)?.name).toBe("click");
    expect(stepFrom(ACTS, 2_000, 1)?.name).toBe("fill");
    expect(stepFrom(ACTS, 2_000, -1)).toBeNull();
    expect(stepFrom(ACTS, 9_000, -1)?.name).toBe("fill");
    expect(stepFrom(ACTS, 9_000, 1)).toBeNull();
  });

  test("after an action means before the next one begins", () => {
    const [click, fill, look] = ACTS as [(typeof ACTS)[0], (typeof ACTS)[0], (typeof ACTS)[0]];
    expect(beforeAndAfter(ACTS, click, 10_000)).toEqual({ before_ms: 2_000, after_ms: 3_100 });
    expect(beforeAndAfter([click, { ...fill, from_ms: 2_500 }], click, 10_000).after_ms).toBe(
      2_500,
    );
    expect(beforeAndAfter(ACTS, look, 9_200).after_ms).toBe(9_200);
  });
});

describe("what was said", () => {
  test("the console has messages with their places, errors and failed requests", () => {
    expect(consoleOf(EVENTS).map(({ level, name, text }) => [level, name, text])).toEqual([
      ["warn", "warning", "old (http://a.test/x.js:7)"],
      ["error", "request", "net::ERR_FAILED: http://a.test/gone"],
      ["error", "error", "x is not a function"],
    ]);
  });

  test("what a run cannot hear is known from its start", () => {
    expect(unheardOf(EVENTS)).toEqual([]);
    const [start] = EVENTS as [TimedEvent];
    const deaf = { ...start, unheard: ["console"] } as TimedEvent;
    expect(unheardOf([deaf])).toEqual(["console"]);
    expect(unheardOf([deaf, { type: "hears", kinds: ["console"], at_ms: 9 }])).toEqual([]);
    expect(unheardOf([])).toEqual([]);
  });

  test("the log has what the console and the actions have not", () => {
    expect(logOf(EVENTS).map(({ name, text }) => `${name}: ${text}`)).toEqual([
      "tab: active about:blank",
      "navigation: 200 http://a.test/",
      "tab: opened http://b.test/",
      "tab: active 2",
      "input: Keys by ada, 4×",
      "dialog: confirm accepted: Sure?",
    ]);
  });

  test("a list up to a moment has what was there by then", () => {
    const log = logOf(EVENTS);
    expect([0, 9, 10, 2_550, 99_999].map((ms) => countUpTo(log, ms))).toEqual([0, 0, 1, 3, 6]);
  });

  test("the page of a moment is that of the tab that was active then", () => {
    expect(pageAt(EVENTS, 0)).toEqual({ url: null, tabs: 0 });
    expect(pageAt(EVENTS, 600)).toEqual({ url: "http://a.test/", tabs: 1 });
    expect(pageAt(EVENTS, 2_550)).toEqual({ url: "http://a.test/", tabs: 2 });
    expect(pageAt(EVENTS, 2_600)).toEqual({ url: "http://b.test/", tabs: 2 });
  });
});

describe("the scrubber", () => {
  test("navigations, actions, errors and people's input are marked, and actions where they began", () => {
    expect(marksOf(EVENTS).map(({ at_ms, kind }) => [at_ms, kind])).toEqual([
      [500, "navigation"],
      [2_000, "action"],
      [4_900, "error"],
      [9_000, "action"],
      [9_500, "input"],
      [9_600, "error"],
      [9_700, "error"],
    ]);
  });

  test("people are marked with who they are, and their input where it began", () => {
    const ada = { by: "ada", from: "10.0.0.7", mode: "control" } as const;
    const seen: TimedEvent[] = [
      { type: "viewer", state: "connected", ...ada, at_ms: 100 },
      { type: "viewer", state: "took_over", ...ada, at_ms: 900 },
      {
        type: "input",
        kind: "pointer",
        count: 2,
        x: 30,
        y: 4,
        by: "ada",
        ms: 700,
        at_ms: 1_600,
      },
      { type: "viewer", state: "disconnected", by: "10.0.0.8", from: "10.0.0.8", at_ms: 2_000 },
    ];
    const texts = [
      "ada (10.0.0.7) came to act",
      "ada (10.0.0.7) took over",
      "Pointer by ada at 30, 4, 2×",
      "10.0.0.8 left",
    ];
    expect(marksOf(seen).map(({ at_ms, text }) => [at_ms, text])).toEqual(
      [100, 900, 900, 2_000].map((at, i) => [at, texts[i] as string]),
    );
    expect(logOf(seen).map(({ text }) => text)).toEqual(texts);
  });

  test("marks that would lie on each other are one, and errors lie on top", () => {
    const groups = groupMarks(marksOf(EVENTS), 10_000, 10);
    expect(groups.map(({ kind, count }) => [kind, count])).toEqual([
      ["input", 1],
      ["navigation", 1],
      ["action", 1],
      ["action", 1],
      ["error", 1],
      ["error", 2],
    ]);
    expect(groups.at(-1)?.text).toBe("net::ERR_FAILED: http://a.test/gone\nx is not a function");
  });

  test("the film strip has the middle of each part", () => {
    expect(stripMoments(10_000, 4)).toEqual([1_250, 3_750, 6_250, 8_750]);
  });
});

test("keys play, go from action to action, to pictures and errors, and leave the browser's own alone", () => {
  const pressed = (key: string, held: object = {}) =>
    commandOf({ key, shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, ...held });
  expect(pressed(" ")).toEqual({ do: "toggle" });
  expect(pressed("ArrowLeft")).toEqual({ do: "step", by: -1 });
  expect(pressed("ArrowRight", { shiftKey: true })).toEqual({ do: "frame", by: 1 });
  expect(pressed(".")).toEqual({ do: "nudge", by: 1 });
  expect(pressed("e")).toEqual({ do: "error" });
  expect(pressed("b")).toEqual({ do: "pair" });
  expect(pressed("c")).toEqual({ do: "copy" });
  expect(pressed("3")).toEqual({ do: "panel", n: 3 });
  expect(pressed("6")).toBeNull();
  expect(pressed("?", { shiftKey: true })).toEqual({ do: "keys" });
  expect(pressed("c", { ctrlKey: true })).toBeNull();
  expect(pressed("ArrowLeft", { altKey: true })).toBeNull();
  expect(pressed("a")).toBeNull();
});

test("every error is gone through, and the first again behind the last", () => {
  const moments = errorMoments(EVENTS, ACTS);
  expect(moments).toEqual([...moments].sort((a, b) => a - b));
  expect(moments.length).toBeGreaterThan(1);
  expect(nextError(moments, 0)).toBe(moments[0] ?? -1);
  expect(nextError(moments, moments[0] ?? 0)).toBe(moments[1] ?? -1);
  expect(nextError(moments, moments.at(-1) ?? 0)).toBe(moments[0] ?? -1);
  expect(nextError([], 5)).toBeNull();
});

test("what was done is listed in the stage in which it began, and a chosen time reaches a little further", () => {
  const stage = (key: string, from: number, until: number | null) => ({
    key,
    title: key,
    from,
    until,
    took_ms: null,
    said: "",
    tone: "ok" as const,
  });
  const began = 1_000;
  const [first, second] = [stage("open", 1_000, 1_500), stage("run", 1_500, null)];
  const told = storyOf([first, second], ACTS, began);
  expect(told.stages.map(({ from_ms, until_ms }) => [from_ms, until_ms])).toEqual([
    [0, 500],
    [500, null],
  ]);
  expect(told.stages[1]?.acts.length).toBe(ACTS.length);
  expect(storyOf([], ACTS, began)).toMatchObject({ stages: [], loose: { length: ACTS.length } });
  const range = rangeOf(1_000, 1_200);
  expect([600, 1_600, 599, 1_601].map((ms) => isIn(range, ms))).toEqual([true, true, false, false]);
  expect(isIn(null, 7)).toBe(true);
});

test("the axis has round moments, as many as there is room for, and none over the end", () => {
  expect(tickMoments(10_900, 16)).toEqual(Array.from({ length: 11 }, (_, i) => i * 1_000));
  expect(tickMoments(0, 10)).toEqual([0]);
  expect([500, 12_000, 90_000, 3_660_000].map(tickText)).toEqual([
    "0.5 s",
    "12 s",
    "1:30",
    "1:01:00",
  ]);
});

test("a quiet time is skipped to shortly before the next thing that happens", () => {
  expect(quietUntil([1_000, 9_000], 2_000, 20_000)).toBe(8_600);
  expect(quietUntil([1_000, 9_000], 1_200, 20_000)).toBeNull();
  expect(quietUntil([1_000, 2_500], 1_900, 3_000)).toBeNull();
});

test("an action reads as a person would say it", () => {
  expect(elementText('role=button[name="Add to basket"]')).toBe("button “Add to basket”");
  expect(elementText("text=Sign in")).toBe("“Sign in”");
  expect(elementText("#buy")).toBe("#buy");
});

describe("events of a recording that grows", () => {
  const at = (at_ms: number, text: string): TimedEvent => ({
    type: "note",
    level: "info",
    text,
    at_ms,
  });

  test("those of the last millisecond are read again, because others may have come in it", () => {
    const known = [at(1, "a"), at(5, "b")];
    expect(readOnFrom(known)).toBe(4);
    expect(mergeEvents(known, 4, [at(5, "b"), at(5, "c"), at(6, "d")])).toEqual([
      ...[at(1, "a"), at(5, "b"), at(5, "c"), at(6, "d")],
    ]);
    expect(mergeEvents(known, 4, [at(5, "b")])).toBe(known);
    expect(readOnFrom([])).toBe(-1);
  });
});

describe("the requests of a session", () => {
  const request = (n: number, status: number, more: object = {}) => {
    const entry = madeEntry(`http://a.test/${n}`, { _n: n, ...more });
    return HarEntry.parse({ ...entry, response: { ...entry.response, status } });
  };
  const harOf = (ms: number, ...entries: HarEntry[]) =>
    Har.parse({ log: { version: "1.2", entries, _ms: ms } });

  test("what is known of a request now stands for what was known before", () => {
    const first = mergeRequests(NO_REQUESTS, harOf(50, request(1, 200), request(2, 0)));
    const { entries, ms } = mergeRequests(first, harOf(70, request(3, 404), request(2, 204)));
    expect(ms).toBe(70);
    expect(entries.map(({ _n, response }) => [_n, response.status])).toEqual([
      [1, 200],
      [2, 204],
      [3, 404],
    ]);
  });

  test("a line says whether a request goes on, has failed, or broke off", () => {
    const lines = [
      request(1, 0, { _unfinished: true }),
      request(2, 0, { _error: "net::ERR_FAILED" }),
      request(3, 200, { _error: "net::ERR_ABORTED" }),
      request(4, 200),
    ].map(requestLine);
    expect(lines.map(({ name, level }) => [name, level])).toEqual([
      ["open", "info"],
      ["failed", "error"],
      ["200", "error"],
      ["200", "info"],
    ]);
  });
});

describe("the moment at which a run failed (rules/recordings#the-player)", () => {
  const of = (events: TimedEvent[]) => failureMs(events, actsOf(events), 60_000);
  const failing = (at_ms: number, ms: number): TimedEvent => ({
    type: "action",
    name: "click",
    outcome: "failed",
    error: "gone",
    ms,
    at_ms,
  });

  test("is the end of the last act that failed, and not an error of the page after it", () => {
    expect(of(EVENTS)).toBe(5_000);
    expect(of([...EVENTS, failing(30_000, 20_000)])).toBe(30_000);
  });

  test("is the begin of the act where another had begun by its end", () => {
    const other: TimedEvent = { ...failing(4_950, 0), outcome: "done" } as TimedEvent;
    expect(of([other, failing(5_000, 100)])).toBe(4_900);
  });

  test("is the last error of the page where no act failed, else the end", () => {
    expect(of(EVENTS.filter((event) => event.type !== "action"))).toBe(9_700);
    expect(of(EVENTS.slice(0, 3))).toBe(60_000);
  });
});

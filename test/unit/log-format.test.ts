import { expect, test } from "bun:test";
import { lineFormat, withPriority } from "#hub/program/log-format.ts";
import { createLog } from "#shared/kit/log.ts";
import { loadWorkerConfig } from "#worker/config.ts";

const FILE = { terminal: false, colours: false, journal: false };

function human(fields: Record<string, unknown>, message = "done", target = FILE): string {
  const lines: string[] = [];
  createLog("debug", (text) => lines.push(text), lineFormat("human", target)).warn(fields, message);
  return (lines[0] ?? "").replace(/\d\d:\d\d:\d\d\.\d{3}/, "TIME");
}

test("plain values stand as they are, others as JSON", () => {
  expect(human({ a: "b", n: 1, s: "two words", o: { x: [1] }, none: undefined, q: 'a"b' })).toBe(
    'TIME WARN  done  a=b  n=1  s="two words"  o={"x":[1]}  q="a\\"b"',
  );
});

test("an error's stack and texts of several lines stand below, further in", () => {
  const err = Object.assign(new Error("broken"), { stack: "Error: broken\n    at here" });
  expect(human({ err, tail: "one\n<0>two\n" })).toBe(
    "TIME WARN  done  err=broken\n    Error: broken\n        at here\n  tail:\n    one\n    <0>two",
  );
});

test("what a page wrote neither steers the terminal nor makes a line of its own", () => {
  expect(human({ title: "\u001b[2J", "a\nb": 1 }, "seen\n12:00:00 ERROR forged")).toBe(
    "TIME WARN  seen?12:00:00 ERROR forged  title=?[2J  a?b=1",
  );
  expect(human({ tail: "a\u001b[2J\nb\u009b" })).toBe(
    "TIME WARN  done\n  tail:\n    a?[2J\n    b?",
  );
});

test("for the journal every line has its level's priority", () => {
  expect(withPriority("a\nb\n", "error")).toBe("<3>a\n<3>b\n");
  expect(human({ tail: "a\nb" }, "done", { ...FILE, journal: true }).split("\n")).toEqual([
    "<4>TIME WARN  done",
    "<4>  tail:",
    "<4>    a",
    "<4>    b",
  ]);
});

test("auto is for people on a terminal only", () => {
  const line = { ts: new Date(), level: "info" as const, message: "m", fields: {} };
  expect(lineFormat("auto", FILE)(line)).toStartWith("{");
  expect(lineFormat("auto", { ...FILE, terminal: true })(line)).toEndWith("INFO  m");
  expect(lineFormat("json", { ...FILE, terminal: true })(line)).toStartWith("{");
});

test("an agent's instances know what its standard error is", () => {
  const { agent, pipeline } = loadWorkerConfig({ JOURNAL_STREAM: "9:1" }, {});
  expect(agent.environment.JOURNAL_STREAM).toBe("9:1");
  expect(pipeline.environment.JOURNAL_STREAM).toBeUndefined();
});

import { describe, expect, test } from "bun:test";
import { failureOf, fingerprintOf } from "#hub/platform/failures/fingerprint.ts";

const python = (line: number, last: string, file = "/srv/thumbs/pipeline.py") =>
  `loading\nTraceback (most recent call last):
  File "/opt/flotilla/runner.py", line 301, in run
    output = handle(task)
  File "${file}", line ${line}, in make_thumb
    img = Image.open(task.file)
  File "/usr/lib/python3/dist-packages/PIL/Image.py", line 3536, in open
    raise UnidentifiedImageError(msg)
${last}
`;
const summary = (error: string, printed = "") => {
  const { kind, message } = failureOf(error, printed);
  return `${kind}: ${message}`;
};

describe("what a failure is called (rules/failures#fingerprints)", () => {
  test.each([
    [
      "OSError: cannot identify image file '/data/in/20611.heic'",
      "OSError: cannot identify image file ‹path›",
    ],
    [
      "ModuleNotFoundError: No module named 'pillow_avif'",
      "ModuleNotFoundError: No module named ‹text›",
    ],
    [
      "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://a.example/7?x=1",
      "HTTPError: 404 Client Error: Not Found for url: ‹url›",
    ],
    [
      "TimeoutError: no answer within 30 s from api.example.com:443",
      "TimeoutError: no answer within ‹n› s from ‹host›",
    ],
    [
      "FileNotFoundError: [Errno 2] No such file or directory: 'x.csv'",
      "FileNotFoundError: [Errno 2] No such file or directory: ‹text›",
    ],
    [
      "json.decoder.JSONDecodeError: Expecting value: line 1 column 2 (char 1)",
      "JSONDecodeError: Expecting value: line ‹n› column ‹n› (char ‹n›)",
    ],
    [
      "TypeError: undefined is not an object (evaluating 'a.b.c')",
      "TypeError: undefined is not an object (evaluating ‹text›)",
    ],
    ["connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED ‹host›"],
    [
      "could not open http://nothing.invalid/: the host name nothing.invalid does not exist (net::ERR_NAME_NOT_RESOLVED)",
      "ERR_NAME_NOT_RESOLVED: could not open ‹url›: the host name ‹host› does not exist (net::ERR_NAME_NOT_RESOLVED)",
    ],
    [
      "job 776jli82yrjms9 of invoice-37 at 0x7f00aa, 2026-01-02T03:04:05Z",
      "Error: job ‹id› of invoice-‹n› at ‹address›, ‹time›",
    ],
    ["exit status 3", "Error: exit status 3"],
    ["AssertionError", "AssertionError: "],
    ["lease expired", "Error: lease expired"],
  ])("%s", (error, expected) => {
    expect(summary(error)).toBe(expected);
  });

  test("what differs from case to case does not tell failures apart, and what happened does", () => {
    const same = (a: string, b: string) => fingerprintOf(a) === fingerprintOf(b);
    expect(same("OSError: no file '/a/1'", "OSError: no file '/b/c/2'")).toBe(true);
    expect(same("ValueError: 12 of 40", "ValueError: 7 of 41")).toBe(true);
    expect(same("ValueError: 12 of 40", "KeyError: 12 of 40")).toBe(false);
    expect(same("HTTPError: 404 for url: http://a/", "HTTPError: 500 for url: http://a/")).toBe(
      false,
    );
    expect(same("exit status 1", "exit status 137")).toBe(false);
    expect(same("boom net::ERR_TIMED_OUT", "boom net::ERR_CONNECTION_REFUSED")).toBe(false);
    expect(fingerprintOf("ValueError: 1")).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe("tracebacks (rules/failures#fingerprints)", () => {
  const error = "PIL.UnidentifiedImageError: cannot identify image file '/in/1.heic'";

  test("the innermost own frames of Python tell failures apart; lines, and frames of packages, do not", () => {
    const one = failureOf(error, python(41, error));
    expect(one.traceback).toStartWith("Traceback (most recent call last):");
    expect(one.traceback).toEndWith(error);
    const other_file = error.replace("1.heic", "2.heic");
    expect(failureOf(other_file, python(77, other_file)).fingerprint).toBe(one.fingerprint);
    const elsewhere = failureOf(error, python(41, error, "/srv/thumbs/other.py"));
    expect(elsewhere.fingerprint).not.toBe(one.fingerprint);
    expect(failureOf(error).fingerprint).not.toBe(one.fingerprint);
  });

  test("of a chain of exceptions the one that was raised counts, and a traceback that was handled does not", () => {
    const chain = `${python(1, "KeyError: 'x'")}\nDuring handling of the above exception, another exception occurred:\n\n${python(41, error)}`;
    expect(failureOf(error, chain).fingerprint).toBe(fingerprintOf(error, python(41, error)));
    const handled = `${python(1, "KeyError: 'x'")}went on\n`;
    expect(failureOf("ValueError: 7", handled)).toMatchObject({ traceback: null });
    expect(fingerprintOf("ValueError: 7", handled)).toBe(fingerprintOf("ValueError: 7"));
  });

  test("an error that is a whole traceback is called by its last line", () => {
    expect(failureOf(python(41, "ValueError: bad 7"))).toMatchObject({
      kind: "ValueError",
      message: "bad ‹n›",
    });
  });

  test("a stack of Bun, as it is thrown and as Bun prints it with the source", () => {
    const printed = (line: number) => `1 | function inner(){ throw new TypeError("bad 42") }
                                ^
TypeError: bad 42
      at inner (/srv/tasks/tb.ts:${line}:29)
      at parse (/srv/tasks/node_modules/csv/index.js:9:1)
      at outer (/srv/tasks/tb.ts:2:26)

`;
    const one = failureOf("TypeError: bad 42", printed(1));
    expect(one).toMatchObject({ kind: "TypeError", message: "bad ‹n›" });
    expect(one.traceback).toContain("at outer (/srv/tasks/tb.ts:2:26)");
    expect(one.traceback).toStartWith("TypeError: bad 42");
    expect(failureOf("TypeError: bad 42", printed(8)).fingerprint).toBe(one.fingerprint);
    const renamed = printed(1).replace("at inner", "at innermost");
    expect(failureOf("TypeError: bad 42", renamed).fingerprint).not.toBe(one.fingerprint);
  });

  test("a stack of a page in Chromium", () => {
    const stack = (host: string) =>
      `Error: script said no\n    at run (https://${host}/app.js:10:5)\n    at async main (https://${host}/app.js:3:1)`;
    expect(failureOf(stack("a.example"))).toMatchObject({
      kind: "Error",
      message: "script said no",
    });
    expect(fingerprintOf(stack("a.example"))).toBe(fingerprintOf(stack("b.example")));
  });

  test("a recursion of any depth is one failure", () => {
    const deep = (n: number) =>
      `RangeError: Maximum call stack size exceeded\n${"    at walk (/srv/t.ts:1:1)\n".repeat(n)}    at main (/srv/t.ts:9:1)`;
    expect(fingerprintOf(deep(5))).toBe(fingerprintOf(deep(50)));
  });
});

describe("hostile errors (rules/failures#fingerprints)", () => {
  test("whatever is sent, the answer is short and comes at once", () => {
    const parts = [
      "a/",
      "a.",
      "a-1",
      ":",
      "'",
      '"x',
      "1",
      "‹",
      "0x",
      "[",
      "a@",
      "(at ",
      " at x (",
      "~/",
      "\n",
      "\u0000",
      "\u0001",
      "Traceback (most recent call last):\n",
      'File "',
      "\ud800",
    ];
    const began = performance.now();
    for (const part of parts) {
      const text = part.repeat(65_536 / part.length);
      for (const error of [text, `E: ${text}`, `${text}\nValueError: ${text}`]) {
        const { kind, message, fingerprint } = failureOf(error, text + text);
        expect(kind.length).toBeLessThanOrEqual(120);
        expect(message.length).toBeLessThanOrEqual(300);
        expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
      }
    }
    // Measured: 60 ms for all of them; a pattern that backtracks would take minutes.
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("nothing at all is a failure too", () => {
    expect(failureOf("")).toMatchObject({ kind: "Error", message: "", traceback: null });
    expect(failureOf("\n \n")).toMatchObject({ kind: "Error", message: "" });
  });
});

describe("a program that says how it ended, and not why (rules/failures#fingerprints)", () => {
  const EXIT = "exited with code 1";

  test("is called by its last line of standard error", () => {
    const printed = "connecting\ncurl: (7) Failed to connect to api.example.com port 443\n\n";
    expect(summary(EXIT, printed)).toBe("Error: curl: (‹n›) Failed to connect to ‹host› port ‹n›");
    expect(summary("killed by SIGSEGV", "one\ntwo\n")).toBe("Error: two");
    expect(summary(EXIT, " \n")).toBe("Error: exited with code 1");
    expect(summary("3 rows are missing", "warning: slow\n")).toBe("Error: ‹n› rows are missing");
  });

  test("has the traceback that it ended with, and the class of its error", () => {
    const { kind, message, traceback } = failureOf(EXIT, python(7, "ValueError: no rows in 4.csv"));
    expect({ kind, message }).toEqual({ kind: "ValueError", message: "no rows in ‹n›.csv" });
    expect(traceback).toContain("make_thumb");
  });

  test("is not grouped with one that ended otherwise, or said something else", () => {
    const of = new Set([
      fingerprintOf(EXIT, "no disk"),
      fingerprintOf("exited with code 2", "no disk"),
      fingerprintOf(EXIT, "no network"),
      fingerprintOf(EXIT),
    ]);
    expect(of.size).toBe(4);
    expect(fingerprintOf(EXIT, "row 3 of 9")).toBe(fingerprintOf(EXIT, "row 4 of 9"));
  });
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeadlineError } from "#shared/kit/clock.ts";
import { MAX_INPUT_FILES_BYTES, MAX_LINK_FRAME_BYTES } from "#shared/protocol/limits.ts";
import { scriptOf } from "#worker/browser/actions/evaluate.ts";
import { failureOf } from "#worker/browser/actions/failure.ts";
import { stopLateLoads } from "#worker/browser/actions/loads.ts";
import type { CdpSession } from "#worker/browser/cdp/connection.ts";
import { safeFileName, uniqueName } from "#worker/browser/session/file-names.ts";
import { createNetworkLog } from "#worker/browser/session/network-log.ts";
import { createSessionFiles } from "#worker/browser/session/session-files.ts";

describe("evaluate (rules/session-actions#evaluate)", () => {
  const run = (code: string, arg?: unknown): Promise<unknown> =>
    // The page does the same with it.
    new Function("arg", `return (${scriptOf(code)})(arg)`)(arg);

  test("takes expressions, functions and statements, with comments and semicolons", async () => {
    expect(await run("1 + 1;")).toBe(2);
    expect(await run("{ a: 1 }")).toEqual({ a: 1 });
    expect(await run("(x) => x + 1", 2)).toBe(3);
    expect(await run("async function named(x) { return x }", 4)).toBe(4);
    expect(await run("const a = await arg; return a // done", 5)).toBe(5);
    expect(await run("'text' // why")).toBe("text");
  });
});

describe("failures of actions (rules/session-actions#failed-actions)", () => {
  test("timeouts, closed tabs, crashes and thrown errors are told apart", () => {
    const named = (name: string, message: string) => Object.assign(new Error(message), { name });
    expect(failureOf(new DeadlineError("click", 5)).kind).toBe("timeout");
    expect(failureOf(named("TimeoutError", "locator.click: Timeout 5ms exceeded.")).error).toEqual({
      name: "TimeoutError",
      message: "Timeout 5ms exceeded.",
    });
    const closed = "page.evaluate: Target page, context or browser has been closed";
    expect(failureOf(new Error(closed))).toMatchObject({
      kind: "page",
      error: { name: "TargetClosedError" },
    });
    expect(failureOf(new Error("page.evaluate: TypeError: no\n    at eval (x:1:2)")).error).toEqual(
      {
        name: "TypeError",
        message: "no",
        stack: "    at eval (x:1:2)",
      },
    );
  });
});

describe("Playwright's call log (rules/session-actions#failed-actions)", () => {
  const thrown = (name: string, message: string) => Object.assign(new Error(message), { name });

  test("is left out, and of a timeout the line that says most is kept", () => {
    const log =
      "\nCall log:\n\u001b[2m  - waiting for locator('#go')\u001b[22m\n    - locator resolved to <a id=\"go\">go</a>\n" +
      "  - attempting click action\n    2 × waiting for element to be visible, enabled and stable\n" +
      '      - <div id="cover"></div> intercepts pointer events\n    - retrying click action\n';
    expect(
      failureOf(thrown("TimeoutError", `locator.click: Timeout 5ms exceeded.${log}`)).error,
    ).toEqual({
      name: "TimeoutError",
      message: 'Timeout 5ms exceeded: <div id="cover"></div> intercepts pointer events',
    });
    const refused = "page.goto: net::ERR_FAILED at http://a.test/\nCall log:\n  - navigating\n";
    expect(failureOf(new Error(refused)).error.message).toBe("net::ERR_FAILED at http://a.test/");
  });
});

describe("loads that outlast an action (rules/session-actions#loads-that-are-too-late)", () => {
  const DEFAULT_MS = 30_000;
  const load = (url: string, age_ms: number, active = true) => {
    const one = {
      url,
      active,
      since: performance.now() - age_ms,
      stopped: false,
      stop: async () => {
        one.stopped = true;
      },
    };
    return one;
  };

  test("an action stops those that it began in any tab, and leaves what was under way before", async () => {
    const [mine, popup, other] = [
      load("http://a/", 10),
      load("http://b/", 10, false),
      load("http://c/", 2_000),
    ];
    const why = await stopLateLoads([mine, popup, other], "click", performance.now() - 1_000);
    expect(why).toBe("http://a/ did not answer, so its load was stopped");
    expect([mine, popup, other].map(({ stopped }) => stopped)).toEqual([true, true, false]);
  });

  test("one that only looks stops nothing but what has kept its tab silent for longer than anybody waits", async () => {
    const young = load("http://user:secret@a/", 10);
    expect(await stopLateLoads([young], "text", 0)).toBe(
      "the tab waits for http://***@a/ to answer",
    );
    expect(young.stopped).toBe(false);
    const [old, behind] = [load("http://a/", DEFAULT_MS), load("http://b/", DEFAULT_MS, false)];
    await stopLateLoads([old, behind], "text", 0);
    expect([old.stopped, behind.stopped]).toEqual([true, false]);
    expect(await stopLateLoads([], "text", 0)).toBeNull();
  });
});

describe("files of a session", () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "session-files-"));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const open = () =>
    createSessionFiles({
      root: () => root,
      downloads: { listDownloads: () => [], openDownload: () => null },
    });

  test("names cannot leave their directory and are unique", () => {
    expect(safeFileName("../../etc/passwd")).toBe("__.._etc_passwd");
    expect(safeFileName("")).toBe("file");
    expect(Buffer.byteLength(safeFileName(`${"ä".repeat(300)}.txt`))).toBeLessThanOrEqual(180);
    const taken = new Set(["a.txt", "a (2).txt"]);
    expect(uniqueName("a.txt", (name) => taken.has(name))).toBe("a (3).txt");
  });

  test("an upload is found once it has ended, and one that is too large is refused and removed", () => {
    const files = open();
    const upload = files.createUpload("../up");
    upload.write(Buffer.from("bytes"));
    expect(() => files.takeInput("a", { upload_id: "../up" })).toThrow("no upload");
    upload.end();
    expect(upload.path.startsWith(root)).toBe(true);
    const path = files.takeInput("../a.txt", { upload_id: "../up" });
    expect(path.startsWith(root)).toBe(true);
    expect(readFileSync(path, "utf8")).toBe("bytes");
    const large = files.createUpload("large");
    expect(() => large.write({ length: MAX_INPUT_FILES_BYTES + 1 } as Uint8Array)).toThrow("bytes");
  });

  test("blobs are found by their id alone, and old ones make room", () => {
    const files = open();
    const first = files.putBlob('"one"');
    expect(files.openBlob(first)).toMatchObject({ size: 5, mime: "application/json" });
    for (let i = 0; i < 16; i += 1) files.putBlob(String(i));
    expect(files.openBlob(first)).toBeNull();
  });
});

describe("network log of a session", () => {
  function openLog(onFailed?: Parameters<typeof createNetworkLog>[1]) {
    const handlers = new Map<string, (params: unknown) => void>();
    const log = createNetworkLog(undefined, onFailed);
    const session = {
      on: (event: string, handler: (params: unknown) => void) => handlers.set(event, handler),
    } as unknown as CdpSession;
    log.listen(session);
    return { log, emit: (event: string, params: object) => handlers.get(event)?.(params) };
  }
  const begin = (requestId: string, url: string, more: object = {}) => ({
    requestId,
    type: "Document",
    request: { method: "GET", url },
    initiator: { type: "other" },
    wallTime: 1,
    timestamp: 10,
    ...more,
  });

  test("a redirect is an entry of its own, and a second telling is not", () => {
    const { log, emit } = openLog();
    emit("Network.requestWillBeSent", begin("1", "http://a.test/"));
    emit("Network.requestWillBeSent", begin("1", "http://a.test/"));
    const redirectResponse = { status: 302, mimeType: "", encodedDataLength: 5 };
    emit(
      "Network.requestWillBeSent",
      begin("1", "http://b.test/", { timestamp: 11, redirectResponse }),
    );
    emit("Network.loadingFailed", { requestId: "1", errorText: "net::ERR_ABORTED", timestamp: 12 });
    const { entries, next } = log.read(0);
    expect(entries.map(({ url, status, error, ms }) => ({ url, status, error, ms }))).toEqual([
      { url: "http://a.test/", status: 302, error: null, ms: 1_000 },
      { url: "http://b.test/", status: null, error: "net::ERR_ABORTED", ms: 1_000 },
    ]);
    expect(log.read(next)).toEqual({ entries: [], next, dropped: 0 });
  });

  test("a request that failed is told with the place that made it (rules/recordings#the-events)", () => {
    const told: unknown[] = [];
    const { emit } = openLog((_entry, origin) => told.push(origin));
    const frame = { url: "http://a.test/a.js", lineNumber: 3, columnNumber: 7, functionName: "" };
    const async_stack = { callFrames: [], parent: { callFrames: [frame] } };
    const initiators = [
      { type: "script", stack: async_stack },
      { type: "parser", url: "http://a.test/", lineNumber: 12 },
      { type: "other" },
    ];
    for (const [i, initiator] of initiators.entries()) {
      const requestId = String(i);
      emit("Network.requestWillBeSent", begin(requestId, "http://a.test/x", { initiator }));
      emit("Network.loadingFailed", { requestId, errorText: "net::ERR_FAILED", timestamp: 12 });
    }
    expect(told).toEqual([
      { url: "http://a.test/a.js", line: 3, column: 7 },
      { url: "http://a.test/", line: 12, column: undefined },
      null,
    ]);
  });

  test("older entries than it keeps are counted as dropped", () => {
    const { log, emit } = openLog();
    for (let i = 0; i < 9_000; i += 1)
      emit("Network.requestWillBeSent", begin(String(i), "http://a.test/"));
    const { entries, dropped } = log.read(0);
    expect(dropped).toBe(5_000);
    expect(entries[0]?.seq).toBe(5_001);
    expect(entries).toHaveLength(2_000);
  });

  test("entries that are large make room for fewer, and count as dropped (rules/sessions#network-log)", () => {
    const { log, emit } = openLog();
    const url = `http://a.test/${"x".repeat(10_000)}`;
    const initiator = { type: "parser", url, lineNumber: 1 };
    for (let i = 0; i < 4_000; i += 1)
      emit("Network.requestWillBeSent", begin(String(i), url, { initiator }));
    const told = [];
    let { entries, next, dropped } = log.read(0);
    const left_out = dropped;
    while (entries.length > 0) {
      told.push(...entries);
      ({ entries, next, dropped } = log.read(next));
      expect(dropped).toBe(0);
    }
    expect(told.length + left_out).toBe(4_000);
    const chars = told.reduce((sum, entry) => sum + 2 * entry.url.length, 0);
    expect(chars).toBeWithin(6_000_000, 8_000_001);
  });

  test("an answer fits into a frame of the link, whatever a page sent (rules/sessions#network-log)", () => {
    const { log, emit } = openLog();
    for (let i = 0; i < 2_000; i += 1) {
      const requestId = String(i);
      const request = { method: "M".repeat(5_000), url: `http://a.test/${"ü".repeat(4_000)}` };
      emit("Network.requestWillBeSent", begin(requestId, "", { request }));
      const response = { status: 200, mimeType: `text/${"y".repeat(5_000)}`, encodedDataLength: 1 };
      emit("Network.responseReceived", { requestId, response });
      const errorText = "e".repeat(5_000);
      emit("Network.loadingFailed", { requestId, errorText, timestamp: 12 });
    }
    const first = log.read(0);
    expect(JSON.stringify(first).length).toBeGreaterThan(1_000_000);
    expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(MAX_LINK_FRAME_BYTES);
    const [entry] = first.entries;
    expect([entry?.method.length, entry?.mime?.length, entry?.error?.length]).toEqual([
      100, 200, 1_000,
    ]);
    expect(log.read(first.next).entries[0]?.seq).toBe(first.next + 1);
  });
});

import { describe, expect, test } from "bun:test";
import { type GuardRules, judgeMessage } from "#worker/browser/bridge/cdp-guard.ts";

const RULES: GuardRules = {
  downloads: "/run/downloads",
  readable: ["/run/downloads", "/run/uploads"],
  refusalOfUrl: (url) => (url.includes(":9223") ? "it is a port of the lanes" : null),
};
const judge = (command: unknown) =>
  judgeMessage(Buffer.from(typeof command === "string" ? command : JSON.stringify(command)), RULES);
const errorOf = (command: unknown): string => {
  const verdict = judge(command);
  if (verdict.kind !== "answer") throw new Error(`let through: ${JSON.stringify(verdict)}`);
  return JSON.parse(verdict.text).error.message;
};
const sentOf = (command: unknown) => {
  const verdict = judge(command);
  if (verdict.kind !== "send") throw new Error(`not sent: ${JSON.stringify(verdict)}`);
  return JSON.parse(verdict.text);
};

test("what concerns nobody but the page passes unread", () => {
  for (const command of [
    { id: 1, method: "Runtime.evaluate", params: { expression: "1 + 1" } },
    { id: 2, method: "Input.dispatchKeyEvent", params: { type: "keyDown", key: "a" } },
    { id: 3, method: "Target.getTargets" },
  ])
    expect(judge(command)).toEqual({ kind: "pass" });
});

test("Browser.close is answered and ends this client alone", () => {
  expect(judge({ id: 7, method: "Browser.close" })).toEqual({
    kind: "answer",
    text: '{"id":7,"result":{}}',
    close: true,
  });
});

test("a command that is nested without end is refused before it is parsed", () => {
  const deep = `${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`;
  expect(errorOf(`{"id":1,"method":"Browser.close","params":${deep}}`)).toBe(
    "message refused: not JSON",
  );
});

describe("what would reach beyond the lane is an error with the id and session of the command", () => {
  test.each([
    ["Browser.crash", {}],
    ["Browser.crashGpuProcess", {}],
    ["Target.setRemoteLocations", { locations: [{ host: "127.0.0.1", port: 9224 }] }],
    ["Target.exposeDevToolsProtocol", { targetId: "T" }],
    ["Extensions.loadUnpacked", { path: "/etc" }],
    ["Tethering.bind", { port: 80 }],
    ["Cast.startTabMirroring", { sinkName: "x" }],
    ["Target.createBrowserContext", { proxyServer: "direct://" }],
    ["Target.createBrowserContext", { proxyBypassList: "*" }],
    ["Tracing.start", { perfettoConfig: "AAAA" }],
    ["Page.navigate", { url: "about:settings" }],
    ["Page.navigate", { url: "file:///etc/passwd" }],
    ["Page.navigate", { url: " \tFILE:/etc/passwd" }],
    ["Page.navigate", { url: "view-source:http://site.test/" }],
    ["Page.navigate", { url: "chrome://settings" }],
    ["Page.navigate", { url: "http://127.0.0.1:9223/json" }],
    ["Fetch.continueRequest", { url: "nonsense" }],
    ["Target.createTarget", { url: "devtools://devtools/bundled/inspector.html" }],
    ["Network.loadNetworkResource", { url: "file:///etc/passwd" }],
    ["DOM.setFileInputFiles", { files: ["/etc/passwd"] }],
    ["DOM.setFileInputFiles", { files: ["/run/uploads/../../etc/passwd"] }],
    ["Input.dispatchDragEvent", { data: { items: [], files: ["/etc/passwd"] } }],
  ])("%s %j", (method, params) => {
    const verdict = judge({ id: 5, sessionId: "S", method, params });
    if (verdict.kind !== "answer") throw new Error("let through");
    expect(JSON.parse(verdict.text)).toEqual({
      id: 5,
      sessionId: "S",
      error: { code: -32000, message: expect.stringContaining(`${method} refused: `) },
    });
    expect(verdict.close).toBe(false);
  });
});

test("pages, files of the session and empty tabs may be opened", () => {
  for (const [method, params] of [
    ["Page.navigate", { url: "http://site.test/" }],
    ["Page.navigate", { url: "data:text/html,x" }],
    ["Target.createTarget", { url: "" }],
    ["Target.createTarget", { url: "about:blank" }],
    ["DOM.setFileInputFiles", { files: ["/run/uploads/a"], objectId: "1" }],
  ] as const)
    expect(sentOf({ id: 1, method, params })).toEqual({ id: 1, method, params });
});

test("a page of the browser itself is let go of, and takes nothing else, however it is spelled", () => {
  const rules = { ...RULES, browser_ui: new Set(["UI"]) };
  const of = (text: string) => judgeMessage(Buffer.from(text), rules).kind;
  for (const text of [
    '{"id":1,"sessionId":"UI","method":"Runtime.evaluate","params":{"expression":"1"}}',
    String.raw`{"id":1,"sessionId":"U\u0049","method":"Runtime.evaluate","params":{}}`,
    '{"id":1,"method":"Target.sendMessageToTarget","params":{"sessionId":"UI","message":"{}"}}',
    '{"id":1,"method":"Target.sendMessageToTarget","params":{"targetId":"UI","message":"{}"}}',
  ])
    expect([text, of(text)]).toEqual([text, "answer"]);
  expect(of('{"id":1,"sessionId":"UI","method":"Runtime.runIfWaitingForDebugger"}')).toBe("send");
  expect(of('{"id":1,"sessionId":"other","method":"Runtime.evaluate","params":{}}')).toBe("pass");
});

test("downloads go to the run's directory, wherever the client wants them", () => {
  const params = { behavior: "allowAndName", downloadPath: "/root/.ssh", eventsEnabled: true };
  for (const method of ["Browser.setDownloadBehavior", "Page.setDownloadBehavior"])
    expect(sentOf({ id: 1, method, params }).params).toEqual({
      ...params,
      downloadPath: "/run/downloads",
    });
});

test("no spelling hides a method", () => {
  expect(errorOf(String.raw`{"id":1,"method":"Browser.c\u0072ash"}`)).toContain("Browser.crash");
  expect(errorOf(String.raw`{"id":1,"\u006dethod":"Browser.crash"}`)).toContain("Browser.crash");
  expect(errorOf('{"id":1,"method":"Target.getTargets","method":"Browser.crash"}')).toContain(
    "Browser.crash",
  );
  // The one that stands last is judged, and alone is sent on.
  expect(sentOf('{"id":1,"method":"Browser.crash","method":"Target.getTargets"}')).toEqual({
    id: 1,
    method: "Target.getTargets",
  });
  expect(errorOf(String.raw`{"id":1,"method":"Browser.c\x72ash"}`)).toContain("not JSON");
  expect(errorOf('/**/{"id":1,"method":"Browser.crash"}')).toContain("not JSON");
});

test("an invalid URL is answered with the browser's own words, and never reaches it", () => {
  for (const url of ["asdf", "http://", "chrome://a b/", "http://a:99999/"])
    expect(errorOf({ id: 1, method: "Page.navigate", params: { url } })).toBe(
      "Cannot navigate to invalid URL",
    );
});

test("a command inside a command is judged like any other", () => {
  const wrap = (message: unknown) => ({
    id: 1,
    method: "Target.sendMessageToTarget",
    params: { sessionId: "S", message: JSON.stringify(message) },
  });
  expect(errorOf(wrap({ id: 9, method: "Page.navigate", params: { url: "file:///" } }))).toContain(
    "file: URLs cannot be opened",
  );
  expect(errorOf(wrap(wrap({ id: 9, method: "Browser.crash" })))).toContain("end the browser");
  expect(errorOf(wrap({ id: 9, method: "Browser.close" }))).toContain("end the browser");
  const inner = { id: 9, method: "Runtime.enable" };
  expect(JSON.parse(sentOf(wrap(inner)).params.message)).toEqual(inner);
});

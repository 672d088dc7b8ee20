import { expect, test } from "bun:test";
import { webDriverPath } from "#hub/fleet/routes/webdriver-addresses.ts";
import { negotiate } from "#hub/fleet/webdriver/capabilities.ts";
import { fateOf } from "#hub/fleet/webdriver/commands.ts";
import { WebDriverError } from "#shared/protocol/webdriver-error.ts";

/** What the capabilities of a client come to, and which commands go through (rules/webdriver). */

const negotiated = (alwaysMatch: object, firstMatch?: object[]) =>
  negotiate({ capabilities: { alwaysMatch, ...(firstMatch && { firstMatch }) } });
const args = (...list: unknown[]) => negotiated({ "goog:chromeOptions": { args: list } });

/** `error: message` of what is refused. */
function refusal(work: () => unknown): string {
  try {
    work();
  } catch (err) {
    if (err instanceof WebDriverError) return `${err.error}: ${err.message}`;
    throw err;
  }
  throw new Error("it was not refused");
}

test("capabilities that mean nothing here become an ordinary session", () => {
  const plain = { session: {}, driver: {}, ignored: [] };
  expect(negotiate({ capabilities: {} })).toEqual(plain);
  expect(negotiated({ browserName: "chrome", platformName: "LINUX" })).toEqual(plain);
  expect(negotiated({ browserName: "Chromium", platformName: null })).toEqual(plain);
  expect(negotiate({ capabilities: {}, desiredCapabilities: { browserName: "x" } })).toEqual(plain);
});

test("W3C's capabilities go to the session or to chromedriver", () => {
  const timeouts = { implicit: 1_000, pageLoad: 5_000, script: null };
  expect(
    negotiated({
      acceptInsecureCerts: true,
      pageLoadStrategy: "eager",
      unhandledPromptBehavior: "accept and notify",
      strictFileInteractability: true,
      setWindowRect: true,
      timeouts,
      webSocketUrl: false,
      "goog:loggingPrefs": { browser: "ALL" },
    }),
  ).toEqual({
    session: { ignore_https_errors: true },
    driver: {
      acceptInsecureCerts: true,
      pageLoadStrategy: "eager",
      unhandledPromptBehavior: "accept and notify",
      strictFileInteractability: true,
      timeouts,
      "goog:loggingPrefs": { browser: "ALL" },
    },
    ignored: [],
  });
});

test("the first of firstMatch that can be is", () => {
  const found = negotiated({ pageLoadStrategy: "none" }, [
    { browserName: "firefox" },
    { browserName: "chrome", "moz:firefoxOptions": {} },
    { browserName: "chrome", "flotilla:options": { idle_ttl_s: 60 } },
    { browserName: "chrome", "flotilla:options": { idle_ttl_s: 90 } },
  ]);
  expect(found.session).toEqual({ idle_ttl_s: 60 });
  expect(refusal(() => negotiated({}, [{ browserName: "safari" }, { platformName: "mac" }]))).toBe(
    'session not created: every lane is Chromium: browserName "safari" is not here; every lane runs Linux: platformName "mac" is not here',
  );
  expect(refusal(() => negotiated({ webSocketUrl: true }))).toContain("BiDi is not served here");
});

test.each([
  [{}, "capabilities is required"],
  [{ desiredCapabilities: {} }, "session not created: desiredCapabilities alone"],
  [null, "capabilities is required"],
  [[], "capabilities is required"],
  [{ capabilities: [] }, "capabilities is required"],
  [{ capabilities: { alwaysMatch: [] } }, "alwaysMatch must be an object"],
  [{ capabilities: { firstMatch: [] } }, "firstMatch must be a list"],
  [{ capabilities: { firstMatch: [1] } }, "firstMatch must be a list"],
  [
    {
      capabilities: { alwaysMatch: { browserName: "chrome" }, firstMatch: [{ browserName: "x" }] },
    },
    "browserName is in alwaysMatch and in firstMatch",
  ],
  [{ capabilities: { alwaysMatch: { nonsense: 1 } } }, "there is no capability nonsense"],
  [{ capabilities: { alwaysMatch: { constructor: 1 } } }, "there is no capability constructor"],
  [{ capabilities: { alwaysMatch: { browserName: 1 } } }, "browserName must be a text"],
  [{ capabilities: { alwaysMatch: { acceptInsecureCerts: 1 } } }, "must be true or false"],
  [{ capabilities: { alwaysMatch: { timeouts: { implicit: -1 } } } }, "timeouts must be"],
  [{ capabilities: { alwaysMatch: { timeouts: { other: 1 } } } }, "timeouts must be"],
  [{ capabilities: { alwaysMatch: { pageLoadStrategy: "slow" } } }, "none, eager or normal"],
  [{ capabilities: { alwaysMatch: { "flotilla:options": 1 } } }, "flotilla:options must be"],
])("%j is refused", (body, words) => {
  expect(refusal(() => negotiate(body))).toContain(words);
});

test("switches of Chromium become options, are told as ignored, or are refused", () => {
  expect(
    args(
      "--headless=new",
      "window-size=800,600",
      "--user-agent=Me",
      "--lang=de_DE",
      "--proxy-server=socks5://p:1080",
      "--no-sandbox",
    ),
  ).toEqual({
    session: {
      headless: true,
      viewport: { width: 800, height: 600 },
      user_agent: "Me",
      locale: "de-DE",
      proxy: "socks5://p:1080",
    },
    driver: {},
    ignored: ["goog:chromeOptions.args --no-sandbox"],
  });
  for (const arg of ["--user-data-dir=/root", "--load-extension=/x", "--remote-debugging-port=1"])
    expect(refusal(() => args(arg))).toStartWith(`session not created: ${arg.split("=")[0]}`);
  expect(refusal(() => args(1))).toStartWith("invalid argument");
  expect(refusal(() => args("--window-size=big"))).toStartWith("invalid argument");
});

test("Chrome options that would name a program, a place or another browser are refused", () => {
  const chrome = (options: object) => negotiated({ "goog:chromeOptions": options });
  for (const [name, value] of Object.entries({
    binary: "/bin/sh",
    debuggerAddress: "127.0.0.1:9222",
    extensions: ["AAAA"],
    minidumpPath: "/tmp",
    androidPackage: "x",
  }))
    expect(refusal(() => chrome({ [name]: value }))).toContain(`${name} cannot apply`);
  expect(refusal(() => chrome({ w3c: false }))).toContain("only W3C");
  expect(
    chrome({ extensions: [], prefs: { a: 1 }, detach: true, mobileEmulation: { deviceName: "x" } }),
  ).toEqual({
    session: {},
    driver: { "goog:chromeOptions": { mobileEmulation: { deviceName: "x" } } },
    ignored: ["goog:chromeOptions.prefs", "goog:chromeOptions.detach"],
  });
});

test("a proxy is one of HTTP or SOCKS, or the fleet's own", () => {
  const proxy = (value: unknown) => negotiated({ proxy: value }).session.proxy;
  expect(proxy({})).toBeUndefined();
  expect(proxy({ proxyType: "system" })).toBeUndefined();
  expect(proxy({ proxyType: "manual", httpProxy: "p:1", sslProxy: "p:1", noProxy: ["a"] })).toEqual(
    { server: "http://p:1", bypass: "a" },
  );
  expect(proxy({ proxyType: "MANUAL", socksProxy: "p:1", socksVersion: 5 })).toEqual({
    server: "socks5://p:1",
  });
  for (const value of [
    { proxyType: "direct" },
    { proxyType: "pac", proxyAutoconfigUrl: "http://x" },
    { proxyType: "manual" },
    { proxyType: "manual", httpProxy: "a:1", sslProxy: "b:1" },
    { proxyType: "manual", httpProxy: "a:1", socksProxy: "b:1" },
    { proxyType: "manual", socksProxy: "b:1", socksVersion: 4 },
    { proxyType: "manual", httpProxy: "user:secret@a:1" },
    "http://p",
  ])
    expect(refusal(() => proxy(value))).toMatch(/^(invalid argument|session not created): proxy/);
});

test("commands go through, are known to nobody, or would reach the machine", () => {
  expect(fateOf("GET", "title")).toBe("pass");
  expect(fateOf("POST", "element/f.1.e.2/click")).toBe("pass");
  expect(fateOf("DELETE", "cookie/a%20b")).toBe("pass");
  expect(fateOf("POST", "se/file")).toBe("file");
  expect(fateOf("POST", "chromium/launch_app")).toBe("refused");
  expect(fateOf("PUT", "title")).toBe("unknown method");
  for (const path of [
    "",
    "nothing",
    "title/",
    "/title",
    "../status",
    "element/../../status",
    "element/%2e%2e/click/x",
    "element/a%2Fb/text",
    "element/%2e%2E/text",
    "element//click",
    "title?x=1",
    "title#x",
    "title\r\nHost: x",
    "constructor",
  ])
    expect(fateOf("GET", path)).toMatch(/^unknown/);
});

test("the paths of Grid lead to those of WebDriver, and no other", () => {
  expect(webDriverPath("/wd/hub/session")).toBe("/session");
  expect(webDriverPath("/wd/hub/session/abc/url")).toBe("/session/abc/url");
  expect(webDriverPath("/wd/hub/status")).toBe("/status");
  for (const path of ["/wd/hub", "/wd/hub/sessions", "/wd/hub/jobs", "/x/wd/hub/session", "/jobs"])
    expect(webDriverPath(path)).toBe(path);
});

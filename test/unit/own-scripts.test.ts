import { expect, test } from "bun:test";
import { createContext, runInContext } from "node:vm";
import { navigatorScript } from "#worker/browser/person/own-scripts.ts";

/** rules/browser-options#where-they-hold */

test("a platform that the browser forgets after its document has begun stays as it was asked for", () => {
  const page = createContext({ platform: "Win32" });
  const read = (code: string): unknown => runInContext(code, page);
  read(`
    globalThis.Navigator = class { get platform() { return platform; } get userAgent() { return "asked for"; } };
    globalThis.navigator = new Navigator();`);
  const isOwn = `Object.getOwnPropertyDescriptor(Navigator.prototype, "userAgent").get.toString().includes("asked")`;
  read(navigatorScript("asked for", "Win32"));
  read(`platform = "Linux x86_64"`);
  expect(read("navigator.platform")).toBe("Win32");
  // What is right already is left to the browser.
  expect(read(isOwn)).toBe(true);
});

import { expect, test } from "bun:test";
import { describeUserAgent } from "#worker/browser/person/client-hints.ts";

/** What a browser says of itself beside its user agent (rules/browser-options#user-agent). */

const PRODUCT = "Chrome/156.0.8078.108";
const chrome = (system: string, rest = "Chrome/156.0.0.0 Safari/537.36") =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) ${rest}`;
const hintsOf = (user_agent: string) => describeUserAgent(user_agent, PRODUCT);

test("the brands are in the order, and with the odd one, that Chromium 156 has itself", () => {
  const { metadata } = hintsOf(chrome("X11; Linux x86_64"));
  expect(metadata?.brands).toEqual([
    { brand: "Not:A-Brand", version: "8" },
    { brand: "Chromium", version: "156" },
    { brand: "Google Chrome", version: "156" },
  ]);
  expect(metadata?.fullVersionList).toEqual([
    { brand: "Not:A-Brand", version: "8.0.0.0" },
    { brand: "Chromium", version: "156.0.8078.108" },
    { brand: "Google Chrome", version: "156.0.8078.108" },
  ]);
});

test("a version that does not run here is taken as it is written", () => {
  const { metadata } = hintsOf(chrome("X11; Linux x86_64", "Chrome/120.0.0.0 Safari/537.36"));
  expect(metadata?.fullVersion).toBe("120.0.0.0");
});

test.each([
  ["Windows NT 10.0; Win64; x64", "Win32", "Windows", "10.0.0", false],
  ["Macintosh; Intel Mac OS X 10_15_7", "MacIntel", "macOS", "10.15.7", false],
  ["X11; Linux x86_64", "Linux x86_64", "Linux", "", false],
  ["X11; CrOS x86_64 14541.0.0", "Linux x86_64", "Chrome OS", "", false],
] as const)("%s is a %s", (system, platform, name, version, mobile) => {
  const said = hintsOf(chrome(system));
  expect(said.platform).toBe(platform);
  expect(said.metadata).toMatchObject({ platform: name, platformVersion: version, mobile });
});

test("a telephone has its model, and is mobile", () => {
  const said = hintsOf(
    chrome("Linux; Android 14; Pixel 8 Build/UP1A", "Chrome/156.0.0.0 Mobile Safari/537.36"),
  );
  expect(said.platform).toBe("Linux armv81");
  expect(said.metadata).toMatchObject({
    platform: "Android",
    platformVersion: "14.0.0",
    model: "Pixel 8",
    mobile: true,
    architecture: "",
  });
  const reduced = hintsOf(chrome("Linux; Android 10; K", "Chrome/156.0.0.0 Mobile Safari/537.36"));
  expect(reduced.metadata?.model).toBe("");
});

test("Edge calls itself Edge beside Chromium", () => {
  const { metadata } = hintsOf(
    chrome("Windows NT 10.0; Win64; x64", "Chrome/156.0.0.0 Safari/537.36 Edg/156.0.3000.1"),
  );
  expect(metadata?.brands?.map(({ brand }) => brand)).toContain("Microsoft Edge");
  expect(metadata?.fullVersion).toBe("156.0.3000.1");
});

test("browsers that are not built on Chromium send no hints", () => {
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  expect(hintsOf(firefox)).toEqual({ platform: "Linux x86_64", metadata: null });
  const iphone =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1";
  expect(hintsOf(iphone)).toEqual({ platform: "iPhone", metadata: null });
});

import { expect, test } from "bun:test";
import { rootCertificates } from "node:tls";
import { headersOf, headersText, withPart } from "#hub/ui/client/fleet/options/browser-values.ts";
import {
  BROWSER_FIELDS,
  FIELDS,
  OPTION_RULES,
  type Options,
} from "#hub/ui/client/fleet/options/fields.ts";
import {
  givenOf,
  issuesIn,
  optionsBody,
  optionsOfAddress,
  outdatedErrors,
  withOption,
} from "#hub/ui/client/fleet/options/values.ts";
import { bodyOf, DEFAULTS } from "#hub/ui/client/fleet/session/new-session.ts";
import { faultsOf } from "#hub/ui/client/forms/faults.ts";
import { placeholderOf } from "#shared/protocol/recipe-secrets.ts";
import type { Block } from "#shared/protocol/schema/block.ts";
import { BROWSER_OPTION_NAMES } from "#shared/protocol/schema/browser-options.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";

/** What forms of jobs, sessions, hosts and presets send of the browser (rules/browser-options#the-options). */

const EVERYTHING = {
  user_agent: "Mozilla/5.0",
  locale: "de-DE",
  timezone: "Europe/Berlin",
  color_scheme: "dark",
  viewport: { width: 800, height: 600 },
  device: "Pixel 7",
  geolocation: { latitude: 52.5, longitude: 13.4, accuracy: 10 },
  permissions: ["geolocation", "notifications"],
  extra_headers: { "X-Team": "research", "X-Trial": "" },
  init_scripts: ["globalThis.a = 1;", "globalThis.b = 2;"],
  javascript: false,
  ignore_https_errors: true,
  certificate_authorities: rootCertificates.slice(0, 2).join("\n"),
  max_download_bytes: 0,
  http_credentials: { username: "me", password: placeholderOf("SHOP_PASSWORD") },
  block: { ads: true, types: ["image"], hosts: ["ads.test"], patterns: ["*/banner/*"] },
} as const;

test("forms have every option of a browser", () => {
  expect(Object.keys(EVERYTHING).sort()).toEqual([...BROWSER_OPTION_NAMES].sort());
  expect(BROWSER_FIELDS.map(({ name }) => name).sort()).toEqual([...BROWSER_OPTION_NAMES].sort());
});

test("what a record says is shown, and sent again as it was", () => {
  const given = givenOf(JobOptions.parse(EVERYTHING));
  expect(given).toMatchObject(EVERYTHING);
  expect(JobOptions.parse(optionsBody(given))).toMatchObject(EVERYTHING);
  const session = bodyOf({ ...DEFAULTS, browser: givenOf(EVERYTHING) });
  expect(CreateSession.parse(session)).toMatchObject(EVERYTHING);
});

test.each([
  ["viewport", "800x600"],
  ["viewport", ["800"]],
  ["viewport", { width: "800" }],
  ["extra_headers", { "X-Team": 7 }],
  ["init_scripts", [1]],
  ["block", { ads: "yes" }],
  ["permissions", "camera"],
] as const)("a value that no form can show is not shown: %s", (name, raw) => {
  expect(givenOf({ [name]: raw })).toEqual({});
});

test("of a page, a side that was not filled in is the screen's", () => {
  const viewport = withPart<{ width?: number; height?: number }>(null, "width", 800);
  expect(optionsBody({ viewport })).toEqual({ viewport: { width: 800, height: 1_080 } });
  expect(withPart(viewport, "width", undefined)).toBeNull();
});

test("an option is gone once its last part is, and says so where a preset has it", () => {
  expect(withPart({ ads: true }, "ads", false)).toBeNull();
  const block: Block = { hosts: ["ads.test"], ads: true };
  expect(withPart(block, "hosts", [])).toEqual({ ads: true });
  const given: Options = { block: { ads: true } };
  expect(withOption(given, { block: null }, "block", null)).toEqual({});
  expect(withOption(given, { block: { ads: true } }, "block", null)).toEqual({ block: null });
});

test("headers are written a line each, and one that is being typed is not lost", () => {
  const text = "X-Team: research\n  X-Url:http://a.test:80/\n\nX-Half";
  const headers = { "X-Team": "research", "X-Url": "http://a.test:80/", "X-Half": "" };
  expect(headersOf(text)).toEqual(headers);
  expect(headersOf(headersText(headers))).toEqual(headers);
  expect(headersOf(" \n")).toBeNull();
});

test("an address names options of several values as JSON, and lists with commas", () => {
  const params = new URLSearchParams({
    viewport: '{"width":800,"height":600}',
    permissions: "camera,microphone",
    javascript: "false",
    block: "{",
  });
  expect(optionsOfAddress(params)).toEqual({
    viewport: { width: 800, height: 600 },
    permissions: ["camera", "microphone"],
    javascript: false,
  });
});

test("a fault within an option is shown at the option, wherever the body has it", () => {
  const fault = (path: string, at?: string) => [...issuesIn({ [path]: "wrong" }, at).keys()];
  expect(fault("options.viewport.width")).toEqual(["viewport"]);
  expect(fault("viewport.width", "")).toEqual(["viewport"]);
  expect(fault("browser_options.block.hosts", "browser_options")).toEqual(["block"]);
});

test("a fault is no longer shown once its option is another one", () => {
  const errors = { "options.viewport.width": "wrong", "options.locale": "wrong", url: "wrong" };
  const before = { viewport: { width: 1 }, locale: "xx" };
  const after = { viewport: { width: 100 }, locale: "xx" };
  expect(outdatedErrors(errors, before, after)).toEqual(["options.viewport.width"]);
});

test("what is missing or out of bounds within an option is found before it is sent", () => {
  const body = { options: optionsBody({ geolocation: { latitude: 91 } }) };
  expect(faultsOf(OPTION_RULES, body)).toEqual({
    "options.geolocation.latitude": "must be at most 90, not 91",
    "options.geolocation.longitude": "is required",
  });
  expect(faultsOf(OPTION_RULES, { options: { geolocation: null } })).toEqual({});
});

test("a choice that can be left to somebody else is no switch", () => {
  const kinds = Object.fromEntries(FIELDS.map(({ name, kind }) => [name, kind]));
  expect(kinds).toMatchObject({ javascript: "yes-no", headless: "switch", permissions: "choices" });
});

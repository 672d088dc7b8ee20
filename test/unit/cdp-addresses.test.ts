import { expect, test } from "bun:test";
import { cdpPath } from "#hub/fleet/routes/cdp-addresses.ts";
import { urlOfNewTarget } from "#hub/fleet/routes/new-target.ts";
import { sessionOptions } from "#hub/fleet/routes/session-query.ts";

const ID = "V1StGXR8Z5jdHi6BmyT3KA";
const SOCKET = { headers: { upgrade: "WebSocket" } };
const pathOf = (path: string, init?: RequestInit) =>
  cdpPath(new Request(`http://hub${path}`, init));

test("a browser's own paths below a session, and those that name it in the query, are its CDP (rules/cdp#addresses)", () => {
  for (const [asked, path] of [
    [`/sessions/${ID}/json/version/`, `/sessions/${ID}/cdp/json/version/`],
    [`/sessions/${ID}/json`, `/sessions/${ID}/cdp/json`],
    [`/sessions/${ID}/devtools/page/A`, `/sessions/${ID}/cdp/devtools/page/A`],
    ["/links/abc/json/list", "/links/abc/cdp/json/list"],
    [`/json/list?session=${ID}`, `/sessions/${ID}/cdp/json/list`],
    [`/json/version/?token=x&session=${ID}`, `/sessions/${ID}/cdp/json/version/`],
    [`/cdp?session=${ID}`, `/sessions/${ID}/cdp`],
    [`/cdp/devtools/page/A?session=${ID}`, `/sessions/${ID}/cdp/devtools/page/A`],
    ["/json/version?headless", "/cdp/json/version"],
    ["/cdp?headless", "/cdp"],
  ] as const)
    expect([asked, pathOf(asked)]).toEqual([asked, path]);
});

test("a socket of the root and of a session's record is one of CDP; a call of either is not (rules/cdp#addresses)", () => {
  expect(pathOf("/?headless", SOCKET)).toBe("/cdp");
  expect(pathOf(`/?session=${ID}`, SOCKET)).toBe(`/sessions/${ID}/cdp`);
  expect(pathOf(`/sessions/${ID}`, SOCKET)).toBe(`/sessions/${ID}/cdp`);
  expect(pathOf(`/sessions/${ID}/`, SOCKET)).toBe(`/sessions/${ID}/cdp`);
  expect(pathOf(`/?session=${ID}`)).toBe("/");
  expect(pathOf(`/sessions/${ID}`)).toBe(`/sessions/${ID}`);
});

test("every other path stays what it is, and a session that cannot be is not one", () => {
  for (const path of [
    "/",
    "/jobs",
    "/jsonx",
    "/cdpx",
    `/sessions/${ID}/click`,
    `/sessions/${ID}/cdp/json/list`,
    `/sessions/${ID}/novnc/websockify`,
    "/https://site.test/json/list",
    "/workers/w1/link",
  ])
    expect(pathOf(path)).toBe(path);
  expect(pathOf(`/workers/w1/link?session=${ID}`, SOCKET)).toBe("/workers/w1/link");
  expect(pathOf("/cdp?session=../jobs")).toBe("/cdp");
  expect(pathOf(`/json/list?session=${ID}%2Fx`)).toBe("/cdp/json/list");
});

test("options of the query are those of the body, and the token is none of them (rules/sessions#sessions-of-a-connection)", () => {
  const options = (query: string) => sessionOptions(new URLSearchParams(query));
  expect(options("")).toEqual({ reconnect_s: 15 });
  expect(options("reconnect_s=null&token=secret")).toEqual({ reconnect_s: 15 });
  expect(
    options(
      'headless&ttl_s=60&viewport=1280x720&proxy=http://p:1&egress={"mode":"public"}&url=http://a/?b=1&worker_id=7&reconnect_s=0',
    ),
  ).toEqual({
    headless: true,
    ttl_s: 60,
    viewport: { width: 1280, height: 720 },
    proxy: "http://p:1",
    egress: { mode: "public" },
    url: "http://a/?b=1",
    worker_id: "7",
    reconnect_s: 0,
  });
  expect(options("ttl_s=1&ttl_s=2").ttl_s).toEqual([1, 2]);
  expect(options("ttl_s=soon").ttl_s).toBe("soon");
  // It names no option, and is no prototype either.
  const strange = options('__proto__={"headless":true}');
  expect(Object.keys(strange)).toEqual(["__proto__", "reconnect_s"]);
  expect(strange.headless).toBeUndefined();
});

test("the address of a new tab is the whole query, as Chromium reads it (rules/cdp#discovery)", () => {
  const at = (query: string) => urlOfNewTarget(`http://hub/sessions/x/json/new${query}`);
  expect(at("")).toBe("about:blank");
  expect(at("?https://site.test/?a=b&c=d")).toBe("https://site.test/?a=b&c=d");
  expect(at("?https%3A%2F%2Fsite.test%2F%3Fa%3Db")).toBe("https://site.test/?a=b");
  expect(at("?session=x&token=y&https://site.test/?token=z")).toBe("https://site.test/?token=z");
  expect(at("?token=y")).toBe("about:blank");
  for (const wrong of ["?site.test", "?%ff", `?https://site.test/${"a".repeat(17_000)}`])
    expect(() => at(wrong)).toThrow();
});

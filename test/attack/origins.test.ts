import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { TableRow } from "#hub/platform/http/access.ts";
import {
  type Attacked,
  attack,
  attackAll,
  startAttacked,
} from "#test/support/clients/attack-calls.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import type { TestHub } from "#test/support/rigs/hub.ts";
import { FOREIGN_PAGES, ORIGINS } from "./lists/callers.ts";

/** Pages of other origins: what they make a browser send is refused on every route that changes something, and on sockets. */

setDefaultTimeout(300_000);

const EXTENSION = { origin: "chrome-extension://abcdefghijklmnopabcdefghijklmnop" };
const UPGRADE = {
  connection: "upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};
const VISIT = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

const tried = attempting(ORIGINS);
let attacked: Attacked | undefined;
afterEach(async () => {
  await attacked?.hub.close();
  attacked = undefined;
});

const isUnsafe = ({ method }: TableRow) => method !== "GET";
/** No page may call it at all. */
const isPrograms = ({ rules }: TableRow) => rules.access === "worker" || rules.origins === "never";
/** What a call without a link is answered that a page may make. */
const otherwise = ({ rules }: TableRow) => (rules.access === "link" ? "link" : null);
/** Whoever has the key may look in from anywhere. */
const isByKey = (row: TableRow) =>
  ["capability", "link"].includes(row.rules.access) && !isPrograms(row);
const isByVisit = ({ rules }: TableRow) => rules.by_visit !== undefined;

async function refusals(
  hub: TestHub,
  rows: readonly TableRow[],
  headers: Record<string, string>,
): Promise<Record<string, string | null>> {
  const found = await attackAll(rows, async (row) => {
    const { refused_by } = await attack(hub, row, headers);
    // Without a password the administrator's calls are nobody's.
    return refused_by === "no password" ? null : refused_by;
  });
  return Object.fromEntries(found);
}
const each = (rows: readonly TableRow[], verdict: (row: TableRow) => string | null) =>
  Object.fromEntries(rows.map((row) => [`${row.method} ${row.path}`, verdict(row)]));

test.each(FOREIGN_PAGES)("what changes something is refused to %s", async (who, headers) => {
  attacked = await startAttacked("hub");
  const { hub, rows } = attacked;
  const found = await refusals(hub, rows, headers);
  const refused = (row: TableRow) => isUnsafe(row) || isPrograms(row) || isByVisit(row);
  expect(found).toEqual(each(rows, (row) => (refused(row) ? "origin" : otherwise(row))));
  for (const row of rows) if (refused(row)) tried.refused(who);
});

test("no page of another origin opens a socket; that of a viewer, whose id or link is the key (rules/access#session-id-as-key), is another test's", async () => {
  attacked = await startAttacked("hub");
  const { hub, rows } = attacked;
  const reads = rows.filter((row) => !isUnsafe(row) && !isByKey(row));
  const found = await refusals(hub, reads, { ...UPGRADE, origin: "https://evil.example" });
  expect(found).toEqual(each(reads, () => "origin"));
});

test("the control plane alone refuses them too", async () => {
  attacked = await startAttacked("control");
  const { hub, rows } = attacked;
  const found = await refusals(hub, rows, { origin: "https://evil.example" });
  const refused = (row: TableRow) => isUnsafe(row) || isPrograms(row);
  expect(found).toEqual(each(rows, (row) => (refused(row) ? "origin" : otherwise(row))));
});

test("programs, pages of the hub itself and the address bar are let through", async () => {
  attacked = await startAttacked("hub");
  const { hub, rows } = attacked;
  const unsafe = rows.filter(isUnsafe);
  const nobody = each(unsafe, otherwise);
  expect(await refusals(hub, unsafe, {})).toEqual(nobody);
  expect(await refusals(hub, unsafe, { origin: hub.url })).toEqual(nobody);
  expect(await refusals(hub, unsafe, { "sec-fetch-site": "none" })).toEqual(nobody);
  // Behind a router that changes the Host, the browser's own word counts.
  const behind = { origin: "https://fleet.example", "sec-fetch-site": "same-origin" };
  expect(await refusals(hub, unsafe, behind)).toEqual(nobody);
});

test("an origin that CORS allows is let through, but not where only programs call (rules/http#cors)", async () => {
  const origin = "https://ops.example";
  attacked = await startAttacked("hub", { SVC_CORS_ORIGINS: origin });
  const { hub, rows } = attacked;
  const told = each(rows, (row) => (isPrograms(row) ? "origin" : otherwise(row)));
  expect(await refusals(hub, rows, { origin, "sec-fetch-site": "cross-site" })).toEqual(told);
  const other = await attack(
    hub,
    { method: "POST", path: "/jobs" },
    { origin: "https://not.ops.example" },
  );
  expect(other.refused_by).toBe("origin");
});

test("a browser's extension may give cookies, and nothing else", async () => {
  attacked = await startAttacked("hub");
  const { hub, rows } = attacked;
  const unsafe = rows.filter(isUnsafe);
  const told = each(unsafe, ({ path }) => (path === "/hosts/cookies/sync" ? null : "origin"));
  expect(await refusals(hub, unsafe, EXTENSION)).toEqual(told);
});

test("GET /{target_url} makes jobs for people who go there and for programs, not for what a page loads", async () => {
  attacked = await startAttacked("hub");
  const { hub } = attacked;
  const tried = async (headers: Record<string, string>) =>
    (await attack(hub, { method: "GET", path: "/*" }, headers)).refused_by;
  expect(await tried({})).toBeNull();
  for (const site of ["none", "cross-site", "same-site", "same-origin"])
    expect(await tried({ ...VISIT, "sec-fetch-user": "?1", "sec-fetch-site": site })).toBeNull();
  // Nobody clicked.
  for (const site of ["cross-site", "same-site"])
    expect(await tried({ ...VISIT, "sec-fetch-site": site })).toBe("origin");
  const loads = [
    { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
    { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" },
    { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    { "sec-fetch-mode": "navigate", "sec-fetch-dest": "object" },
    { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
  ];
  for (const load of loads)
    for (const site of ["cross-site", "same-site", "same-origin"])
      expect({ load, site, by: await tried({ ...load, "sec-fetch-site": site }) }).toEqual({
        load,
        site,
        by: "origin",
      });
  expect(await tried({ origin: "https://evil.example" })).toBe("origin");
  const { body } = await hub.call("GET", "/jobs");
  // The five visits alone.
  expect(body.jobs).toHaveLength(5);
});

const CHROME =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const POWERSHELL =
  "Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.19045; en-US) PowerShell/7.5.0";
const DOCUMENT = { accept: "text/html,application/xhtml+xml", "upgrade-insecure-requests": "1" };

test("where a browser reports nothing of the site, GET /{target_url} wants what it sends with documents (rules/access#pages-of-other-origins)", async () => {
  attacked = await startAttacked("hub");
  const { hub } = attacked;
  const tried = async (headers: Record<string, string>) =>
    (await attack(hub, { method: "GET", path: "/*" }, headers)).refused_by;
  for (const browser of [CHROME, FIREFOX]) {
    const by = { "user-agent": browser };
    expect(await tried({ ...by, ...DOCUMENT })).toBeNull();
    expect(await tried({ ...by, accept: "image/avif,*/*;q=0.8" })).toBe("origin");
    // `fetch` sends whatever Accept its page names.
    expect(await tried({ ...by, accept: DOCUMENT.accept })).toBe("origin");
    expect(await tried({ ...by, ...DOCUMENT, accept: "*/*" })).toBe("origin");
    expect(await tried(by)).toBe("origin");
  }
  for (const program of [POWERSHELL, "curl/8.14.1", "Mozilla/5.0"])
    expect(await tried({ "user-agent": program, accept: "*/*" })).toBeNull();
});

test("a program whose fetch sends some of what browsers send makes a job (rules/access#pages-of-other-origins)", async () => {
  attacked = await startAttacked("hub");
  const { hub } = attacked;
  const tried = async (headers: Record<string, string>) =>
    (await attack(hub, { method: "GET", path: "/*" }, headers)).refused_by;
  const node = { "user-agent": "node", accept: "*/*", "sec-fetch-mode": "cors" };
  expect(await tried(node)).toBeNull();
  expect(await tried({ ...node, "user-agent": CHROME })).toBe("origin");
  expect(await tried({ ...node, "sec-fetch-site": "cross-site" })).toBe("origin");
  expect(await tried({ ...node, origin: "https://evil.example" })).toBe("origin");
});

test("what a browser loads before anybody goes there makes no job", async () => {
  attacked = await startAttacked("hub");
  const { hub } = attacked;
  const tried = async (headers: Record<string, string>) =>
    (await attack(hub, { method: "GET", path: "/*" }, headers)).refused_by;
  const visits = [
    { ...VISIT, "sec-fetch-site": "cross-site", "sec-fetch-user": "?1" },
    { ...DOCUMENT, "user-agent": CHROME },
  ];
  for (const visit of visits) {
    expect(await tried(visit)).toBeNull();
    expect(await tried({ ...visit, "sec-purpose": "prefetch;prerender" })).toBe("origin");
    expect(await tried({ ...visit, purpose: "prefetch" })).toBe("origin");
    expect(await tried({ ...visit, "x-moz": "prefetch" })).toBe("origin");
  }
});

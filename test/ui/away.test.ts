import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { CHANGED, changeEverything } from "#test/support/rigs/changed-while-away.ts";
import { type EveryPage, everyPage } from "#test/support/rigs/every-page.ts";
import { type KillableFleet, killableFleet } from "#test/support/rigs/killable-fleet.ts";
import { logIn, settled, type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/**
 * Every page of the web app, open while its hub is killed, started again, and replaced by another version
 * (rules/web-app#away). All of them are opened once; each test begins by killing the hub.
 */

setDefaultTimeout(280_000);

/** Two sessions stay open. */
const LANES = 3;
/** Each page holds one of the six connections that a browser has for a server. */
const TOGETHER = 4;
/** What a browser says of a server that is away, and noVNC of a screen that is. */
const GONE = /net::ERR_|WebSocket connection|Failed when connecting: Connection closed/;
/** And of a file that the other version does not have, or of a screen before its worker is back. */
const GONE_OR_OTHER = new RegExp(`${GONE.source}|404 .*/ui/assets/|503 .*/sessions/`);
/** Below a screen, in place of that it is live. */
const NOT_LIVE = "Not live while the server is away";
/** What pages say of what goes on, and in its place while the hub is away. */
const GOES_ON = /^Live, |, following$/;
const WAITS = new RegExp(`^${NOT_LIVE}$|, waiting for the server$`);
const CODE = "export const run = () => 1;";

let rig: UiRig;
let fleet: KillableFleet;
let every: EveryPage;
const open = new Map<string, UiPage>();

/** Those that are opened together: the first logs in, as some ask for the administrator before they show anything. */
async function openTogether(addresses: [name: string, address: string][], apart: number) {
  for (const [i, [name, address]] of addresses.entries()) {
    const ui = await rig.open(i === 0 ? "/ui/captures/new" : address, { url: fleet.url, apart });
    open.set(name, ui);
    if (i === 0) {
      await logIn(ui.page, fleet.url, fleet.admin_password);
      await ui.page.goto(fleet.url + address);
    }
    await settled(ui.page);
  }
}

beforeAll(async () => {
  [rig, fleet] = await Promise.all([uiRig(), killableFleet(LANES)]);
  const { api, data_dir } = fleet;
  every = await everyPage({ api, data_dir, site: rig.site });
  await api("POST", "/api/v1/workloads", {
    slug: "away-code",
    executor_type: "bun_module",
    executor_config: { code: CODE },
  });
  const addresses = Object.entries({
    ...every.addresses,
    "details of a job": `/ui/captures/${every.job_id}?tab=details`,
    "workers of the pipeline": "/ui/system/workers?kind=pipeline",
    "a workload with code": "/ui/pipelines/away-code",
  });
  // One after another: a dozen that begin at the same time each take longer than a page may.
  const parts = Math.ceil(addresses.length / TOGETHER);
  for (const part of Array(parts).keys())
    await openTogether(addresses.slice(part * TOGETHER, (part + 1) * TOGETHER), part);
}, 280_000);

afterAll(async () => {
  await fleet.start("this");
  for (const ui of open.values()) await ui[Symbol.asyncDispose]();
  await fleet.close();
}, 180_000);

const at = (name: string): Page => {
  const ui = open.get(name);
  if (ui === undefined) throw new Error(`${name} is not open`);
  return ui.page;
};

/** What is wrong with the pages, by the names of those with which something is. */
async function faultsOf(
  judge: (page: Page, name: string) => Promise<string[]>,
): Promise<Record<string, string[]>> {
  const all = await Promise.all(
    [...open].map(async ([name, { page }]) => [name, await judge(page, name)] as const),
  );
  return Object.fromEntries(all.filter(([, faults]) => faults.length > 0));
}

const waited = (what: string, wait: Promise<void>): Promise<string[]> =>
  wait.then(
    () => [],
    (err: Error) => [`${what}: ${err.message.split("\n")[0]}`],
  );

const bar = (page: Page) => page.getByText(/^Offline since \d\d:\d\d\. Showing what was last/);
const allOffline = () => faultsOf((page) => waited("not offline", bar(page).waitFor()));
const allBack = () =>
  faultsOf((page) => waited("still offline", bar(page).waitFor({ state: "detached" })));

/** What the page shows, line by line; how long ago something was goes on until the hub is away. */
const linesOf = async (page: Page): Promise<string[]> =>
  // biome-ignore lint/performance/useDomNodeTextContent: lines are what is laid out as such
  (await page.locator("main").innerText())
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
const withoutNumbers = (lines: string[]): string[] =>
  lines.map((line) =>
    line.replaceAll(/just now|\d+ (s|min) ago/g, "# ago").replaceAll(/\d+/g, "#"),
  );
const countOfPictures = (page: Page): Promise<number> =>
  page.evaluate(
    "[...document.querySelectorAll('main img')].filter((one) => one.naturalWidth > 0).length",
  );

interface Shown {
  lines: string[];
  pictures: number;
  alerts: number;
}
const shownBy = async (page: Page): Promise<Shown> => ({
  lines: await linesOf(page),
  pictures: await countOfPictures(page),
  alerts: await page.locator("main [role=alert]").count(),
});

/** Pages say that the hub is away in one place, and nothing that was there is lost or said to be broken. */
async function faultsOfAway(page: Page, before: Shown | undefined): Promise<string[]> {
  const now = await shownBy(page);
  const [was, is] = [withoutNumbers(before?.lines ?? []), withoutNumbers(now.lines)];
  return [
    ...was
      .filter((line) => !is.includes(line) && !GOES_ON.test(line))
      .map((line) => `lost: ${line}`),
    ...is
      .filter((line) => !was.includes(line) && !WAITS.test(line))
      .map((line) => `added: ${line}`),
    ...(now.pictures < (before?.pictures ?? 0) ? ["lost a picture"] : []),
    ...(now.alerts > (before?.alerts ?? 0) ? ["added an alert"] : []),
  ];
}

test("every page says since when its hub is away, keeps what it showed and counts no time on (rules/web-app#away)", async () => {
  const before = new Map<string, Shown>();
  for (const [name, { page }] of open) before.set(name, await shownBy(page));
  await fleet.kill();
  expect(await allOffline()).toEqual({});
  expect(await faultsOf((page, name) => faultsOfAway(page, before.get(name)))).toEqual({});
  const still = new Map<string, string[]>();
  for (const [name, { page }] of open) still.set(name, await linesOf(page));
  await at("/ui/browsers/:sid").getByText(NOT_LIVE).waitFor();
  await at("/ui/system/logs").getByText("waiting for the server").waitFor();
  // They have asked in vain again meanwhile.
  await Promise.all(
    [...open.values()].map(({ page }) =>
      page.waitForEvent("requestfailed", (request) => request.url().includes("health")),
    ),
  );
  const moved = await faultsOf(async (page, name) => {
    const was = still.get(name) ?? [];
    return (await linesOf(page)).filter((line, i) => line !== was[i]);
  });
  expect(moved).toEqual({});
  await open.get("/ui/captures")?.judge(GONE, "offline");
  await open.get("/ui/captures/:job_id")?.judge(GONE, "offline");
  for (const ui of open.values()) expect(ui.complaints(GONE)).toEqual([]);
});

test("every page comes back by itself and shows what was changed meanwhile (rules/web-app#away)", async () => {
  await fleet.kill();
  expect(await allOffline()).toEqual({});
  // Reloaded, a page would have forgotten it.
  for (const { page } of open.values()) await page.evaluate("globalThis.stayed = true");
  const job = at("/ui/captures/:job_id");
  await job.getByRole("tab", { name: "Page" }).click();
  await job.getByText("This part of the page comes as soon as the server answers.").waitFor();
  await fleet.start("this");
  await changeEverything(fleet, rig.site, every);
  expect(await allBack()).toEqual({});
  expect(Object.keys(CHANGED).sort()).toEqual([...open.keys()].sort());
  const left = await faultsOf(async (page, name) => {
    const changed = CHANGED[name];
    return changed ? waited("not shown", changed(page)) : [];
  });
  expect(left).toEqual({});
  await job.getByTitle("The captured page").waitFor();
  const reloaded = await faultsOf(async (page) =>
    (await page.evaluate("globalThis.stayed === true")) ? [] : ["reloaded"],
  );
  expect(reloaded).toEqual({});
});

test("a page whose server has become another version says so, and parts that the server no longer has break nothing (rules/web-app#away)", async () => {
  await fleet.kill();
  expect(await allOffline()).toEqual({});
  const job = at("/ui/captures/:job_id");
  await job.getByRole("tab", { name: /^Assets/ }).click();
  await job.getByText("This part of the page comes as soon as the server answers.").waitFor();
  await fleet.start("next");
  const told = (page: Page) => page.locator(".connection-bar[data-updated]");
  expect(await faultsOf((page) => waited("not told", told(page).waitFor()))).toEqual({});
  const broken = await faultsOf(async (page) =>
    (await page.getByText(/dynamically imported|could not be shown/).count()) > 0 ? ["broken"] : [],
  );
  expect(broken).toEqual({});

  // A panel: what is around it stays, and its page is reloaded when somebody says so.
  const panel = job.getByRole("tabpanel");
  await panel.getByText("This part of the page could not be loaded").waitFor();
  await job.getByRole("tab", { name: "Details" }).waitFor();
  await panel.getByRole("button", { name: "Reload" }).click();
  await told(job).waitFor({ state: "detached" });
  await job.getByRole("tab", { name: /^Assets/, selected: true }).waitFor();
  await job
    .getByRole("tabpanel")
    .getByRole("button", { name: "Reload" })
    .waitFor({ state: "detached" });

  // The editor: code is written in a plain field.
  const code = at("a workload with code");
  await code.getByRole("tab", { name: "Code" }).click();
  await code.locator("textarea[aria-label=Code]").waitFor();

  // A chart.
  const workers = at("/ui/system/workers");
  await workers.getByRole("link", { name: "CPU and GPU" }).click();
  await workers.getByText("This part of the page could not be loaded").first().waitFor();

  // A page that was not open yet is read anew by itself: nothing of it is shown that could be lost.
  const wall = at("/ui/browsers");
  await wall.getByRole("link", { name: "System" }).click();
  await wall.getByRole("link", { name: "Audit" }).click();
  await wall.getByRole("heading", { name: "Audit" }).waitFor();
  await told(wall).waitFor({ state: "detached" });

  const button = at("/ui/library/skills").getByRole("button", { name: "Reload" });
  await button.click();
  await told(at("/ui/library/skills")).waitFor({ state: "detached" });
  for (const ui of open.values()) expect(ui.complaints(GONE_OR_OTHER)).toEqual([]);
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import {
  type ExtensionBrowser,
  openExtensionBrowser,
} from "#test/support/rigs/extension-browser.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { type LoginSite, startLoginSite } from "#test/support/servers/site/login.ts";

const SLOW_MS = 180_000;

let fleet: FleetProcesses;
let first: LoginSite;
let second: LoginSite;
let own: ExtensionBrowser;
let page: Page;
beforeAll(async () => {
  [fleet, first, second] = await Promise.all([
    startFleet({ lanes: 1, headless: true }),
    startLoginSite("first.localhost"),
    startLoginSite("www.second.localhost", { max_age_s: 3_600 }),
  ]);
  await fleet.lanesWarm();
  own = await openExtensionBrowser(fleet.url);
  own.context.setDefaultTimeout(60_000);
  page = await own.context.newPage();
}, SLOW_MS);
afterAll(async () => {
  await own?.close();
  await Promise.all([fleet.stop(), first.stop(), second.stop()]);
}, SLOW_MS);

async function logIn(site: LoginSite): Promise<void> {
  await page.goto(`${site.origin}/login`);
  await page.fill("#user", site.user);
  await page.fill("#password", site.password);
  await page.click("#submit");
  await page.waitForSelector("#hello");
}

/** Chooses the scope in the popup, clicks its button and waits for what it says. */
const send = async (scope: "active-host" | "all"): Promise<string> => {
  await page.bringToFront();
  return own.inPopup(`(async () => {
    const status = document.querySelector("#status");
    while (document.querySelector("#sync").disabled) await new Promise(requestAnimationFrame);
    document.querySelector("input[value=${scope}]").click();
    const done = new Promise((resolve) => {
      new MutationObserver(() => /^(ok|failed)$/.test(status.dataset.state) && status.textContent && resolve())
        .observe(status, { attributes: true, childList: true });
    });
    document.querySelector("#sync").click();
    await done;
    return status.textContent;
  })()`);
};

async function counts(): Promise<Record<string, number>> {
  const answer = await fetch(`${fleet.url}/hosts`);
  const { hosts } = (await answer.json()) as { hosts: { host: string; cookies: unknown[] }[] };
  return Object.fromEntries(hosts.map((h) => [h.host, h.cookies.length]));
}

/** What a fetch job sees behind the login. */
async function privatePage(site: LoginSite): Promise<{ title: string | null; log: string }> {
  const { job_id } = await fleet.submit(`${site.origin}/private`, { idle_seconds: 0.2 });
  const { title, error } = await fleet.finished(job_id);
  expect(error).toBeNull();
  return { title, log: await (await fetch(`${fleet.url}/jobs/${job_id}/log.txt`)).text() };
}

describe("the cookie-sync extension in a real Chromium (rules/hosts#cookie-sync-extension)", () => {
  test(
    "sends the cookies of the active host, then of all; sending again changes nothing",
    async () => {
      await logIn(second);
      await logIn(first);
      expect(await send("active-host")).toContain("sent 1 cookie of first.localhost");
      expect(await counts()).toEqual({ "first.localhost": 1 });
      expect(await send("all")).toContain("sent 2 cookies of 2 hosts");
      const both = { "first.localhost": 1, "www.second.localhost": 1 };
      expect(await counts()).toEqual(both);
      expect(await send("all")).toContain("sent 2 cookies of 2 hosts");
      expect(await counts()).toEqual(both);
    },
    SLOW_MS,
  );

  test(
    "a job to a host that was sent is logged in, one to another host was not before",
    async () => {
      await fetch(`${fleet.url}/hosts/first.localhost`, { method: "DELETE" });
      expect((await privatePage(first)).title).toBe("Log in");
      expect(await send("active-host")).toContain("sent 1 cookie of first.localhost");
      for (const site of [first, second]) {
        const { title, log } = await privatePage(site);
        expect(title).toBe("Private");
        expect(log).toContain(`1 cookie of ${site.host} injected`);
        for (const sid of site.sessions) expect(log).not.toContain(sid);
      }
    },
    SLOW_MS,
  );

  test(
    "the options take another hub, and say when the last sync failed",
    async () => {
      const options = await own.context.newPage();
      await options.goto(`chrome-extension://${own.id}/options.html`);
      await options.waitForSelector("#fields:enabled");
      expect(await options.inputValue("#hub")).toBe(fleet.url);
      await options.fill("#hub", "not an address");
      await options.click("button[type=submit]");
      await options.waitForSelector("#saved[data-state=failed]");
      await options.fill("#hub", "http://127.0.0.1:9/");
      await options.click("button[type=submit]");
      await options.waitForSelector("#saved[data-state=ok]");
      expect(await send("all")).toContain("The hub at http://127.0.0.1:9 does not answer");
      await options.bringToFront();
      await options.reload();
      await options.waitForSelector("#status[data-state=failed]");
      await options.waitForSelector("#fields:enabled");
      await options.fill("#hub", fleet.url);
      await options.click("button[type=submit]");
      await options.waitForSelector("#saved[data-state=ok]");
      await options.close();
      await page.goto("about:blank");
      expect(await send("active-host")).toContain("The active tab is not a web page");
    },
    SLOW_MS,
  );
});

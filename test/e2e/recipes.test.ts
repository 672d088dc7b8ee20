import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { z } from "zod";
import type { RunExtras } from "#shared/protocol/link/messages.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { type LoginSite, startLoginSite } from "#test/support/servers/site/login.ts";
import { type RecipeSite, startRecipeSite } from "#test/support/servers/site/recipes.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";

const SLOW_MS = 180_000;
const PLACEHOLDER = "$" + "{ENV:SITE_PASSWORD}";
const FAST = { idle_seconds: 0.2, post_click_seconds: 0.1 };

let login: LoginSite;
let site: RecipeSite;
let lane: JobLane;
beforeAll(async () => {
  [login, site, lane] = await Promise.all([startLoginSite(), startRecipeSite(), openJobLane()]);
}, 180_000);
afterAll(async () => {
  await lane.close();
  await Promise.all([login.stop(), site.stop()]);
});

type Extras = z.input<typeof RunExtras>;
type Actions = NonNullable<NonNullable<Extras["recipe"]>["actions"]>;

const run = (path: string, extras: Extras, options: Record<string, unknown> = {}) =>
  lane.run({ url: site.origin + path, extras, options: { ...FAST, ...options } });
const withActions = (actions: Actions, timeout_s = 60): Extras => ({
  recipe: { actions, timeout_s },
});
const story = (log: string[]) => log.join("\n");

describe("recipes of a fetch job (rules/recipes#when-recipes-run)", () => {
  test(
    "every kind of action runs in order, with its time in the job log, and what it loads is captured byte for byte",
    async () => {
      const { outcome, assets, documents, log } = await run(
        "/form",
        withActions([
          { kind: "wait", selector: "#name", timeout_s: 60 },
          { kind: "fill", selector: "#name", text: "grace" },
          { kind: "press", key: "Tab" },
          { kind: "type", text: "typed" },
          { kind: "click", selector: "#more" },
          { kind: "scroll", amount: 400 },
          { kind: "evaluate", code: "document.title = scrollY + ' ' + document.title" },
          { kind: "navigate", url: `${site.origin}/end?from=recipe` },
        ]),
      );
      expect({ outcome, log }).toMatchObject({ outcome: { status: "completed", title: "End" } });
      expect(outcome.final_url).toBe(`${site.origin}/end?from=recipe`);
      expect(documents.get("page.html")).toContain("the end");
      for (const { url, sha256 } of site.server.expected)
        expect(assets).toContainEqual(expect.objectContaining({ source_url: url, sha256 }));
      expect(site.said()).toEqual(["grace/typed", "400 Form grace/typed"]);
      const steps = log.filter((line) => line.startsWith("info recipe:"));
      expect(steps.map((line) => line.replace(/\d+ ms$/, "N ms"))).toEqual([
        "info recipe: 1/8 wait #name: N ms",
        "info recipe: 2/8 fill #name: N ms",
        "info recipe: 3/8 press Tab: N ms",
        "info recipe: 4/8 type: N ms",
        "info recipe: 5/8 click #more: N ms",
        "info recipe: 6/8 scroll 400: N ms",
        "info recipe: 7/8 evaluate: N ms",
        `info recipe: 8/8 navigate ${site.origin}/end?from=recipe: N ms`,
      ]);
      expect(outcome.capture).toMatchObject({ lost: 0, partial: 0 });
    },
    SLOW_MS,
  );

  test(
    "a job without one is untouched by Playwright, and goal and code alone run nothing",
    async () => {
      const { outcome, log } = await run("/end", { recipe: { goal: "g", code: "c" } });
      expect(outcome.status).toBe("completed");
      expect(story(log)).not.toContain("recipe");
    },
    SLOW_MS,
  );

  test(
    "after a click post_click_seconds are waited",
    async () => {
      const extras = withActions([
        { kind: "click", selector: "#more" },
        { kind: "evaluate", code: "document.title = Math.round(performance.now() - clicked_at)" },
      ]);
      const { outcome } = await run("/form", extras, { post_click_seconds: 1 });
      expect(Number(outcome.title)).toBeGreaterThanOrEqual(990);
    },
    SLOW_MS,
  );

  test(
    "a step that fails ends the job with a sentence, and what was captured is kept, the page too",
    async () => {
      const { outcome, assets, documents } = await run(
        "/covered",
        withActions([
          { kind: "wait", selector: "#under" },
          { kind: "wait", selector: "#missing", timeout_s: 1 },
        ]),
      );
      expect(outcome).toMatchObject({
        status: "failed",
        stage: "recipe",
        error: "recipe failed at step 2/2 wait #missing: no element matches; not there within 1 s",
      });
      expect(assets.length).toBeGreaterThan(0);
      expect(documents.get("page.html")).toContain("under");
    },
    SLOW_MS,
  );

  test(
    "a navigation to a port of the lanes is refused as any other",
    async () => {
      const { outcome } = await lane.run({
        url: `${site.origin}/end`,
        extras: withActions([{ kind: "navigate", url: `${login.origin}/` }]),
        refuses: { own_ports: [login.server.port] },
        options: FAST,
      });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("is a port of this worker's own lanes");
    },
    SLOW_MS,
  );

  test(
    "dialogs during a recipe neither stop it nor fail the job",
    async () => {
      const extras = withActions([
        { kind: "evaluate", code: "alert('one'); document.title = 'after ' + confirm('two')" },
      ]);
      const { outcome, log } = await run("/end", extras);
      expect({ outcome, log }).toMatchObject({
        outcome: { status: "completed", title: "after false" },
      });
      expect(story(log)).toContain("dismissed an alert dialog: one");
    },
    SLOW_MS,
  );
});

describe("popup_policy (rules/hosts#popup-policy)", () => {
  const clicks = withActions([
    { kind: "click", selector: "#open" },
    { kind: "evaluate", code: "document.querySelector('#blank')?.click()" },
  ]);
  const popupUrls = (assets: { source_url: string }[]) =>
    assets.map((a) => a.source_url).filter((u) => u.includes("/popup?"));

  test(
    "allow captures what popups load",
    async () => {
      const { assets, outcome } = await run("/popups", { ...clicks, popup_policy: "allow" });
      expect(popupUrls(assets).toSorted()).toEqual([
        `${site.origin}/popup?by=link`,
        `${site.origin}/popup?by=script`,
      ]);
      expect(outcome.title).toBe("Popups");
    },
    SLOW_MS,
  );

  test(
    "block closes them before they ask for anything",
    async () => {
      site.server.hits.splice(0);
      const { assets, outcome, log } = await run("/popups", { ...clicks, popup_policy: "block" });
      expect(popupUrls(assets)).toEqual([]);
      expect(site.server.hits.filter(({ path }) => path.startsWith("/popup?"))).toEqual([]);
      expect(outcome).toMatchObject({ status: "completed", title: "Popups" });
      expect(story(log)).toContain(`popup blocked: ${site.origin}/popup?by=script`);
      expect(story(log)).toContain(`popup blocked: ${site.origin}/popup?by=link`);
    },
    SLOW_MS,
  );

  test(
    "block does so too when the recipe's own connection lets a window go first",
    async () => {
      site.server.hits.splice(0);
      const { outcome } = await lane.run({
        url: `${site.origin}/popups`,
        extras: { ...clicks, popup_policy: "block" },
        // Silent for longer than it takes a window to ask for its document.
        options: { ...FAST, idle_seconds: 1 },
        adapt: slowToStopWindows,
      });
      expect(outcome).toMatchObject({ status: "completed", title: "Popups" });
      expect(site.server.hits.filter(({ path }) => path.startsWith("/popup?"))).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "same_tab opens them in the job's tab, and leaves windows without a URL",
    async () => {
      const actions: Actions = [
        { kind: "click", selector: "#empty" },
        { kind: "click", selector: "#open" },
      ];
      const { assets, outcome, log } = await run("/popups", {
        ...withActions(actions),
        popup_policy: "same_tab",
      });
      expect(outcome).toMatchObject({
        status: "completed",
        title: "Popup",
        final_url: `${site.origin}/popup?by=script`,
      });
      expect(popupUrls(assets)).toEqual([`${site.origin}/popup?by=script`]);
      expect(story(log)).toContain(`popup opened in the same tab: ${site.origin}/popup?by=script`);
      const by_link = await run("/popups", {
        ...withActions([{ kind: "click", selector: "#blank" }]),
        popup_policy: "same_tab",
      });
      expect(by_link.outcome.final_url).toBe(`${site.origin}/popup?by=link`);
    },
    SLOW_MS,
  );
});

/** The browser as a worker sees it that is too busy to stop a window in time. */
async function slowToStopWindows(browser: LaneBrowser): Promise<LaneBrowser> {
  const transport = await socketTransport(browser.cdp_url);
  const { send } = transport;
  transport.send = (message) => {
    const { method, sessionId } = JSON.parse(message);
    if (method === "Fetch.enable" && sessionId) setTimeout(() => send(message), 500);
    else send(message);
  };
  return { ...browser, connection: new CdpConnection(transport) };
}

describe("login recipes (rules/recipes#logging-in)", () => {
  const login_recipe = () => ({
    logged_in: "#logout",
    timeout_s: 60,
    actions: [
      { kind: "navigate" as const, url: `${login.origin}/login` },
      { kind: "fill" as const, selector: "#user", text: login.user },
      { kind: "fill" as const, selector: "#password", text: PLACEHOLDER },
      { kind: "click" as const, selector: "#submit" },
    ],
  });
  /** What a whole login took on this machine just now: enough for its steps. */
  let login_s = 5;
  const secrets = () => ({ SITE_PASSWORD: login.password });
  const visit = (path: string, extras: Extras) =>
    lane.run({ url: login.origin + path, extras, options: FAST });

  test(
    "logs in with a value of the hub's environment, goes back to the job's URL and shows the value nowhere",
    async () => {
      const extras = { login_recipe: login_recipe(), secrets: secrets() };
      const began = performance.now();
      const result = await visit("/?page=home", extras);
      login_s = Math.ceil((performance.now() - began) / 1_000);
      const { outcome, documents, log } = result;
      expect({ outcome, log }).toMatchObject({ outcome: { status: "completed" } });
      expect(outcome.final_url).toBe(`${login.origin}/?page=home`);
      expect(documents.get("page.html")).toContain(login.user);
      expect(story(log)).toContain("login: logged in: #logout is there");
      expect(story(log)).toContain(`back to ${login.origin}/?page=home`);
      expect(JSON.stringify([result, ...documents.values()])).not.toContain(login.password);
    },
    SLOW_MS,
  );

  test(
    "is skipped when somebody is logged in already, by cookies of the registry for one",
    async () => {
      const cookies = [{ name: "sid", value: login.newSession(), domain: "login.localhost" }];
      const { outcome, log } = await visit("/private", {
        login_recipe: login_recipe(),
        secrets: secrets(),
        cookies,
      });
      expect(outcome).toMatchObject({ status: "completed", title: "Private" });
      expect(story(log)).toContain("1 cookie of login.localhost injected");
      expect(story(log)).toContain("already logged in: #logout is there");
      expect(story(log)).not.toContain("fill #user");
    },
    SLOW_MS,
  );

  test(
    "a login that does not work fails the job, and says no more than it may",
    async () => {
      const { outcome, log } = await visit("/private", {
        login_recipe: { ...login_recipe(), timeout_s: login_s },
        secrets: { SITE_PASSWORD: "wrong-password" },
      });
      expect(outcome).toMatchObject({ status: "failed", stage: "login" });
      expect(outcome.error).toBe(
        `login failed: #logout is not there after the login recipe, on ${login.origin}/login`,
      );
      expect(story(log)).not.toContain("wrong-password");
    },
    SLOW_MS,
  );

  test(
    "a placeholder without a value fails the job by its name before anything is opened",
    async () => {
      login.server.hits.splice(0);
      const { outcome } = await visit("/private", { login_recipe: login_recipe() });
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toBe(
        `the recipe cannot run: ${PLACEHOLDER} has no value: SITE_PASSWORD must be listed in the hub's SVC_RECIPE_ENV and set in its environment`,
      );
      expect(login.server.hits).toEqual([]);
    },
    SLOW_MS,
  );
});

describe("cookies of a job (rules/hosts#cookies-of-a-job)", () => {
  test(
    "are sent to their host alone, or to its subdomains too with a dot; what Chromium refuses is named",
    async () => {
      const cookie = (name: string, domain: string, more = {}) => ({
        name,
        value: `v-${name}`,
        domain,
        ...more,
      });
      const { log } = await visitCookies("http://a.site.localhost", [
        cookie("own", "a.site.localhost", { http_only: true, same_site: "Strict" }),
        cookie("wide", ".site.localhost", { expires: Date.now() / 1_000 + 60 }),
        cookie("parent", "site.localhost"),
        cookie("path", "a.site.localhost", { path: "/other" }),
        cookie("none", "a.site.localhost", { same_site: "None" }),
        cookie("__Host-bad", "a.site.localhost", { path: "/x", secure: true }),
      ]);
      const sent = site.server.hits.find((hit) => hit.headers.host?.startsWith("a.site.localhost"));
      const names = sent?.headers.cookie?.split("; ").toSorted();
      expect(names).toEqual(["none=v-none", "own=v-own", "wide=v-wide"]);
      expect(story(log)).toContain("5 cookies of a.site.localhost, site.localhost injected");
      expect(story(log)).toContain("Chromium refused the cookie __Host-bad of a.site.localhost");
      expect(story(log)).not.toContain("v-");
    },
    SLOW_MS,
  );

  const visitCookies = (origin: string, cookies: NonNullable<Extras["cookies"]>) => {
    site.server.hits.splice(0);
    return lane.run({
      url: `${origin}:${site.server.port}/end`,
      extras: { cookies },
      options: FAST,
    });
  };
});

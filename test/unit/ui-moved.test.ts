import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { movedTo } from "#hub/ui/moved.ts";
import { isPagePath } from "#hub/ui/page-path.ts";

/** Addresses that pages had before they had a place (rules/web-app#addresses-of-the-app). */

const OLD = [
  ...["wall", "submit", "jobs", "jobs/x", "jobs/x/diff/y", "watches", "watches/x"],
  ...["sessions", "sessions/x", "workers", "hosts", "hosts/x", "profiles", "engines", "presets"],
  ...["skills", "conventions", "fleet-settings", "pipeline", "workloads", "workloads/x"],
  ...["workloads/runs", "runs", "pull-workers", "load", "flow", "plugins", "plugins/x", "agents"],
  ...["logs", "audit", "deploys", "settings", "tokens"],
];

test("every old address leads to a page that there is", () => {
  const source = readFileSync(join(import.meta.dir, "../../hub/ui/client/pages.tsx"), "utf8");
  const pages = [...source.matchAll(/path: "([^"]+)"/g)].map(([, path = ""]) => path);
  for (const old of OLD) {
    const to = movedTo(`/ui/${old}`, "");
    const path = to?.split("?")[0] ?? "";
    expect([old, pages.some((page) => isPagePath(page, path))]).toEqual([old, true]);
    // It is no old address itself.
    expect([old, movedTo(path, "")]).toEqual([old, null]);
  }
});

test("what follows and the query stay as they were written", () => {
  expect(movedTo("/ui/hosts/a%2Fb", "?recipe=0")).toBe("/ui/library/hosts/a%2Fb?recipe=0");
  expect(movedTo("/ui/pull-workers", "?q=%3C")).toBe("/ui/system/workers?kind=pipeline&q=%3C");
  expect(movedTo("/ui/settings", "?edit=llm_engines")).toBe(
    "/ui/system/settings?part=pipeline&edit=llm_engines",
  );
});

test("an address that never was a page stays", () => {
  for (const path of ["/ui/nothing", "/ui/captures/x", "/ui/constructor", "/jobs", "/ui/jobs.js"])
    expect([path, movedTo(path, "")]).toEqual([path, null]);
});

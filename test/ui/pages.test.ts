import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "#test/support/rigs/fleet-process.ts";
import { layoutFaults, WINDOWS } from "#test/support/rigs/ui-layout.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/**
 * Every page of the admin UI (rules/web-app#every-page) shows its heading, axe finds nothing serious, the console stays
 * empty, nothing is asked of another origin, and no text is cut, covered or outside of the window. What its buttons do is in
 * the file of each page.
 */

setDefaultTimeout(280_000);

const SOURCE = join(import.meta.dir, "../../hub/ui/client/pages.tsx");
const SLUG = "every-page";

let rig: UiRig;
/** Address of each page, by its pattern. */
let addresses: Record<string, string>;

beforeAll(async () => {
  rig = await uiRig();
  const url = `${rig.site}/?every-page`;
  const { job_id } = await rig.api<{ job_id: string }>("POST", "/jobs", { url });
  await rig.api("POST", "/api/v1/workloads", {
    slug: SLUG,
    name: SLUG,
    executor_type: "command",
    executor_config: { argv: ["sh", "-c", "exit 3"] },
    max_attempts: 1,
  });
  await rig.api("POST", `/api/v1/workloads/${SLUG}/tasks`, { pk: "one" });
  await rig.api("PUT", "/hosts/every-page.test", { notes: "x" });
  const daily = { url, cron: "@daily", paused: true };
  const { watch_id } = await rig.api<{ watch_id: string }>("POST", "/watches", daily);
  const { session_id } = await rig.api<{ session_id: string }>("POST", "/sessions", { url });
  const run_id = await until("a run", 60_000, async () => {
    const { runs } = await rig.api<{ runs: { run_id: number }[] }>(
      "GET",
      `/api/v1/workloads/${SLUG}/runs`,
    );
    return runs[0]?.run_id;
  });
  await until("the end of the job", 150_000, async () => {
    const { status } = await rig.api<{ status: string }>("GET", `/jobs/${job_id}`);
    return status === "completed";
  });
  const patterns = [...readFileSync(SOURCE, "utf8").matchAll(/path: "(\/ui\/[^"]+)"/g)];
  const ids: Record<string, string> = {
    "/ui/captures/:job_id": job_id,
    "/ui/browsers/:sid": session_id,
    "/ui/captures/:job_id/diff/:other": job_id,
    "/ui/captures/schedules/:watch_id": watch_id,
    "/ui/library/hosts/:host": "every-page.test",
    "/ui/pipelines/:slug": SLUG,
    "/ui/pipelines/workloads/:slug": SLUG,
    "/ui/library/plugins/:slug": "disk-usage",
  };
  addresses = Object.fromEntries(
    patterns.map(([, path = ""]) => [path, path.replaceAll(/:\w+/g, () => ids[path] ?? "none")]),
  );
  for (const tab of ["log", "assets", "requests", "page"])
    addresses[`${tab} of a job`] = `/ui/captures/${job_id}?tab=${tab}`;
  addresses["a run"] = `/ui/pipelines/runs?run=${run_id}`;
}, 240_000);

afterAll(
  () => rig.api("DELETE", `/sessions/${addresses["/ui/browsers/:sid"]?.split("/").at(-1)}`),
  180_000,
);

/** axe takes a second a page: the phone's layout is judged by its width alone. */
for (const { name, judged, window, colors } of [
  { name: "is judged by axe", judged: true, window: WINDOWS.desk, colors: "light" },
  { name: "fits a tablet", judged: false, window: WINDOWS.tablet, colors: "light" },
  { name: "fits a phone", judged: false, window: WINDOWS.phone, colors: "dark" },
] as const)
  test(`every page ${name} (rules/web-app#every-page)`, async () => {
    expect(Object.keys(addresses).length).toBeGreaterThan(30);
    const faults: Record<string, string[]> = {};
    await using ui = await rig.open("/ui/captures", { ...window, colors });
    // Some pages ask for the administrator before they show anything.
    const data = { password: rig.admin_password };
    expect((await ui.page.request.post(`${rig.url}/ui/login`, { data })).status()).toBe(204);
    for (const address of Object.values(addresses)) {
      await ui.page.goto(rig.url + address);
      await ui.page.locator("main h1").first().waitFor();
      await ui.page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      expect(await ui.page.getByRole("heading", { name: "There is no such page" }).count()).toBe(0);
      const found = await layoutFaults(ui.page);
      if (found.length > 0) faults[address] = found;
      if (judged) await ui.judge();
    }
    expect(faults).toEqual({});
    expect(ui.complaints()).toEqual([]);
  });

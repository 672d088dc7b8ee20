import type { Page } from "playwright-core";
import { EVERY_HOST, EVERY_PAGE, EVERY_PLUGIN, type EveryPage, storePlugin } from "./every-page.ts";
import { until } from "./fleet-process.ts";
import type { KillableFleet } from "./killable-fleet.ts";

/** What others change before a page that was offline has read anew, and where each page shows it. */

/** The worker is back a moment after the hub. */
const BACK_MS = 60_000;

const ENGINE = { endpoint: "http://127.0.0.1:1/v1", model: "m" };

/** Without a free lane the hub says so, and keeps the job. */
const submit = ({ api }: Pick<KillableFleet, "api">, url: string): Promise<unknown> =>
  api("POST", "/jobs", { url }).catch((err: Error) => {
    if (!err.message.includes("fleet at capacity")) throw err;
  });

/** In every place of the app something. */
export async function changeEverything(
  fleet: Pick<KillableFleet, "api" | "data_dir">,
  site: string,
  { watch_id, job_id, session_id }: EveryPage,
): Promise<void> {
  const { api, data_dir } = fleet;
  await storePlugin(data_dir, "away-plugin", "Plugin of before");
  await storePlugin(data_dir, EVERY_PLUGIN, "Renamed plugin");
  await api("PUT", "/presets/away-preset", { options: { scroll: true } });
  await api("PUT", "/skills/away-skill", { name: "away-skill", code: "1" });
  await api("PUT", "/engines/away-engine", { ...ENGINE, name: "away-engine" });
  await api("PUT", "/conventions/away-convention", { title: "away-convention", text: "Be kind." });
  await api("PUT", "/hosts/away.test", {});
  await api("POST", `/hosts/${EVERY_HOST}/recipes`, { pattern: "/away" });
  await api("PATCH", `/watches/${watch_id}`, { cron: "@weekly" });
  await api("PATCH", `/jobs/${job_id}`, { labels: { away: "yes" } });
  await api("PATCH", "/settings", { retention_days: 77 });
  await api("POST", "/api/v1/workloads/away-code/tasks", { pk: "away-code-task" });
  await submit(fleet, `${site}/away-page`);
  await submit(fleet, "http://127.0.0.1:1/away-failed");
  const away = { slug: "away-workload", executor_type: "command" };
  await api("POST", "/api/v1/workloads", { ...away, executor_config: { argv: ["true"] } });
  await api("POST", `/api/v1/workloads/${EVERY_PAGE}/tasks`, { pk: "away-task" });
  await api("POST", "/api/v1/agents/away-agent/sync", {
    agent_id: "agent-of-away",
    version: "1.0.0",
    children: [],
    gpus: [],
  });
  await api("POST", "/api/v1/workers/away-puller/register", {
    incarnation: "incarnation-away",
    host: "away-puller",
    slots: 1,
    version: "1.0.0",
    workloads: [],
  });
  await api("POST", "/api/v1/admin/deploy", { target: "away-target" });
  await changeSessions(fleet, site, session_id);
}

/** One goes on to another page and is saved, one comes, and one comes and goes. */
async function changeSessions(
  { api }: Pick<KillableFleet, "api">,
  site: string,
  sid: string,
): Promise<void> {
  const url = `${site}/form`;
  await until("the worker", BACK_MS, () =>
    api("POST", `/sessions/${sid}/navigate`, { url }).catch(() => false),
  );
  await api("POST", `/sessions/${sid}/profile/save`, { name: "away-profile" });
  const openOne = () =>
    until("a free lane", BACK_MS, () =>
      api<{ session_id: string }>("POST", "/sessions", { url }).catch(() => false as const),
    );
  const { session_id } = await openOne();
  await api("DELETE", `/sessions/${session_id}`);
  await openOne();
}

const text = (shown: string) => (page: Page) =>
  page.locator("main").getByText(shown).first().waitFor();
const element = (selector: string) => (page: Page) => page.locator(selector).first().waitFor();

/** Where each page shows what {@link changeEverything} did; null where there is nothing that could have changed. */
export const CHANGED: Record<string, ((page: Page) => Promise<void>) | null> = {
  "/ui/home": text("away-failed"),
  "/ui/browsers": (page) => page.locator(".wall-picture").nth(1).waitFor(),
  "/ui/browsers/past": text("Test site"),
  "/ui/browsers/:sid": element('main input[value*="/form"]'),
  "/ui/captures": text("away-page"),
  // A form has what its reader typed.
  "/ui/captures/new": null,
  "/ui/captures/schedules": text("@weekly"),
  "/ui/captures/schedules/:watch_id": text("@weekly"),
  "/ui/captures/failures": text("ERR_UNSAFE_PORT"),
  // What became of a capture that is over stays as it is.
  "/ui/captures/:job_id": null,
  "/ui/captures/:job_id/diff/:other": null,
  "log of a job": null,
  "assets of a job": null,
  "requests of a job": null,
  "page of a job": null,
  "details of a job": text("away:yes"),
  "/ui/pipelines": text("away-workload"),
  "/ui/pipelines/runs": text("away-task"),
  "a run": text("away-task"),
  "/ui/pipelines/failures": text("away-task"),
  "/ui/pipelines/flow": text("away-workload"),
  "/ui/pipelines/:slug": text("away-task"),
  "/ui/pipelines/workloads/:slug": text("away-task"),
  "a workload with code": text("away-code-task"),
  "/ui/library/hosts": text("away.test"),
  "/ui/library/hosts/:host": text("/away"),
  "/ui/library/profiles": text("away-profile"),
  "/ui/library/skills": text("away-skill"),
  "/ui/library/presets": text("away-preset"),
  "/ui/library/engines": text("away-engine"),
  "/ui/library/conventions": text("away-convention"),
  "/ui/library/plugins": text("Renamed plugin"),
  "/ui/library/plugins/:slug": text("Renamed plugin"),
  // Under the name of its host, which both of its halves have.
  "/ui/system/workers": null,
  "workers of the pipeline": text("away-puller"),
  "/ui/system/agents": text("away-agent"),
  "/ui/system/logs": text("could not reach the hub"),
  "/ui/system/deploys": text("away-target"),
  // The first token would close the server to the tests.
  "/ui/system/tokens": null,
  "/ui/system/audit": text("PATCH /watches/"),
  "/ui/system/settings": element('main input[value^="77"]'),
};

import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "./fleet-process.ts";
import type { UiRig } from "./ui-rig.ts";

/** Every page of the web app, with something to show on it. */

const SOURCE = join(import.meta.dir, "../../../hub/ui/client/pages.tsx");
export const EVERY_PAGE = "every-page";
export const EVERY_HOST = "every-page.test";
export const EVERY_PLUGIN = "every-page-plugin";

export interface EveryPage {
  /** Address of each page, by its pattern or what is open on it. */
  addresses: Record<string, string>;
  job_id: string;
  session_id: string;
  watch_id: string;
}

/** Stores a plugin, or renames it. */
export async function storePlugin(data_dir: string, slug: string, name: string): Promise<void> {
  const dir = join(data_dir, "plugins", slug);
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "plugin.json"), JSON.stringify({ slug, name, version: "1.2.3" }));
}

/** Makes what the pages show: a capture, a session that stays open, a failed run, a host, a schedule and a plugin. */
export async function everyPage({
  api,
  site,
  data_dir,
}: Pick<UiRig, "api" | "site" | "data_dir">): Promise<EveryPage> {
  await storePlugin(data_dir, EVERY_PLUGIN, "Plugin of every page");
  const url = `${site}/?every-page`;
  const { job_id } = await api<{ job_id: string }>("POST", "/jobs", { url });
  await api("POST", "/api/v1/workloads", {
    slug: EVERY_PAGE,
    name: EVERY_PAGE,
    executor_type: "command",
    executor_config: { argv: ["sh", "-c", "exit 3"] },
    max_attempts: 1,
  });
  await api("POST", `/api/v1/workloads/${EVERY_PAGE}/tasks`, { pk: "one" });
  await api("PUT", `/hosts/${EVERY_HOST}`, { notes: "x" });
  const daily = { url, cron: "@daily", paused: true };
  const { watch_id } = await api<{ watch_id: string }>("POST", "/watches", daily);
  const { session_id } = await api<{ session_id: string }>("POST", "/sessions", { url });
  const run_id = await until("a run", 60_000, async () => {
    const { runs } = await api<{ runs: { run_id: number }[] }>(
      "GET",
      `/api/v1/workloads/${EVERY_PAGE}/runs`,
    );
    return runs[0]?.run_id;
  });
  await until("the end of the job", 150_000, async () => {
    const { status } = await api<{ status: string }>("GET", `/jobs/${job_id}`);
    return status === "completed";
  });
  const patterns = [...readFileSync(SOURCE, "utf8").matchAll(/path: "(\/ui\/[^"]+)"/g)];
  const ids: Record<string, string> = {
    "/ui/captures/:job_id": job_id,
    "/ui/browsers/:sid": session_id,
    "/ui/captures/:job_id/diff/:other": job_id,
    "/ui/captures/schedules/:watch_id": watch_id,
    "/ui/library/hosts/:host": EVERY_HOST,
    "/ui/pipelines/:slug": EVERY_PAGE,
    "/ui/pipelines/workloads/:slug": EVERY_PAGE,
    "/ui/library/plugins/:slug": EVERY_PLUGIN,
  };
  const addresses = Object.fromEntries(
    patterns.map(([, path = ""]) => [path, path.replaceAll(/:\w+/g, () => ids[path] ?? "none")]),
  );
  for (const tab of ["log", "assets", "requests", "page"])
    addresses[`${tab} of a job`] = `/ui/captures/${job_id}?tab=${tab}`;
  addresses["a run"] = `/ui/pipelines/runs?run=${run_id}`;
  return { addresses, job_id, session_id, watch_id };
}

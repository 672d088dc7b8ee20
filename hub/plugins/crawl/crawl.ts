import { createClient } from "#shared/client/index.ts";
import { scopeOf } from "./addresses.ts";
import type { Crawl, Task, TaskContext } from "./context.ts";
import { waitsForFleet } from "./fleet-away.ts";
import { crawlLinks } from "./links.ts";
import { crawlPage } from "./page.ts";
import { type Settings, settingsOf } from "./settings.ts";
import { crawlSitemap } from "./sitemap-task.ts";

/** The module of the plugin `crawl` (rules/pipeline-crawl). The runner opens it once, with the workload's init_kwargs. */
export function createPlugin(given: Partial<Settings>) {
  const { FLOTILLA_WORKLOAD: name, FLOTILLA_FLEET_URL: base_url } = process.env;
  if (!name || !base_url) throw new Error("a crawl needs a worker that lets its tasks run jobs");
  const settings = settingsOf(given);
  const crawl: Crawl = {
    name,
    settings,
    jobs: createClient({ base_url }).jobs,
    inScope: scopeOf(settings),
    robots: new Map(),
    told: new Map(),
  };
  const run = (task: Task, ctx: TaskContext): Promise<unknown> => {
    const { sitemap, links } = task.extra ?? {};
    if (sitemap) return crawlSitemap(crawl, task, ctx);
    return links ? crawlLinks(crawl, task, ctx) : crawlPage(crawl, task, ctx);
  };
  return { run: (task: Task, ctx: TaskContext) => waitsForFleet(run(task, ctx)) };
}

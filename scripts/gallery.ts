import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { listenDemo } from "#hub/program/demo/listen.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { WINDOWS } from "#test/support/rigs/ui-layout.ts";
import { type OpenOptions, type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { ROOT } from "./build.ts";
import { startGallerySite } from "./gallery-site.ts";

/**
 * `bun scripts/gallery.ts` takes the screenshots of hub/ui/README.md and of the guide from dev mode at work;
 * `bun scripts/gallery.ts --all DIR` takes every page in the sizes of `WINDOWS`, light and dark, to be looked at before a
 * change of the UI is done. Names at the end take those pages alone.
 */

const GALLERY = join(ROOT, "hub/ui/gallery");
const GUIDE = join(ROOT, "hub/guide/pictures");
/** A picture that is asked for too early shows grey lines. */
const SETTLED_MS = 20_000;

interface Seeds {
  job_id: string;
  failed_job_id: string;
  scripted_job_id: string;
  session_id: string;
  run_id: number;
}

const workload = (slug: string, description: string, script: string) => ({
  slug,
  name: slug,
  description,
  executor_type: "command",
  executor_config: { argv: ["sh", "-c", script] },
  max_attempts: 2,
  backoff: { kind: "fixed", base_s: 1, max_s: 1, jitter: 0 },
});

const SCRIPT = `import { session, log, save } from "flotilla";
const links = await session.links();
log(\`\${links.length} links\`);
await save("links.json", links);
export default { links: links.length };
`;

async function jobEnd(rig: UiRig, job_id: string): Promise<void> {
  await until("the end of a job", 60_000, async () => {
    const { status } = await rig.api<{ status: string }>("GET", `/jobs/${job_id}`);
    return status === "completed" || status === "failed";
  });
}

/** @returns a run that failed. */
async function seedWorkloads(rig: UiRig): Promise<number> {
  await rig.api(
    "POST",
    "/api/v1/workloads",
    workload("thumbnails", "Makes thumbnails of pictures", "cat >/dev/null; echo '{\"made\": 3}'"),
  );
  await rig.api(
    "POST",
    "/api/v1/workloads",
    workload(
      "invoices",
      "Reads invoices; some cannot be read",
      "grep -q 7 && { echo 'no total found' >&2; exit 3; }; echo ok",
    ),
  );
  await rig.api("POST", "/api/v1/workloads", {
    ...workload("archive", "Packs what is old", "true"),
    enabled: false,
  });
  for (const slug of ["thumbnails", "invoices", "archive"]) {
    const items = Array.from({ length: 40 }, (_, i) => ({
      pk: `${slug}-${i}`,
      extra: { page: i },
    }));
    await rig.api("POST", `/api/v1/workloads/${slug}/tasks/batch`, { items });
  }
  const failures = await until("a run that failed for good", 60_000, async () => {
    const { runs } = await rig.api<{ runs: { run_id: number; outcome: string }[] }>(
      "GET",
      "/api/v1/workloads/invoices/runs?limit=200",
    );
    const bad = runs.filter(({ outcome }) => outcome !== "success");
    return runs.length >= 44 ? bad : undefined;
  });
  return failures[0]?.run_id ?? 0;
}

/** What a team would have after a morning. */
async function seed(rig: UiRig): Promise<Seeds> {
  const submit = async (url: string, options: object = {}) =>
    (await rig.api<{ job_id: string }>("POST", "/jobs", { url, options })).job_id;
  const demo = `http://127.0.0.1:${demo_page.port}/demo/`;
  const ids: string[] = [];
  for (const url of [site.at("news"), site.at("departures"), site.at("shop"), demo]) {
    const id = await submit(url);
    ids.push(id);
    await jobEnd(rig, id);
  }
  const failed_job_id = await submit("http://nothing.invalid/");
  await jobEnd(rig, failed_job_id);
  const scripted_job_id = await submit(demo, { mode: "rerun", code: SCRIPT });
  await jobEnd(rig, scripted_job_id);
  await rig.api("PUT", "/hosts/shop.example", {
    notes: "Prices are behind the login.",
    recipes: [
      {
        pattern: "/offers/*",
        description: "Open the offers",
        actions: [
          { kind: "wait", selector: "#accept-cookies", timeout_s: 5 },
          { kind: "click", selector: "#accept-cookies" },
          { kind: "scroll", amount: 2_000 },
        ],
      },
    ],
  });
  await rig.api("PUT", "/engines/local", {
    name: "Local model",
    endpoint: "http://127.0.0.1:9/v1",
    model: "qwen3-coder",
    use_for_codegen: true,
  });
  await rig.api("PUT", "/conventions/dates", {
    title: "Dates",
    text: "Write dates as ISO 8601.",
    enabled: true,
  });
  await rig
    .api("PUT", "/presets/long-page", { name: "Long page", options: { wait_seconds: 5 } })
    .catch(() => {});
  const run_id = await seedWorkloads(rig);
  const session = (name: Parameters<typeof site.at>[0]) =>
    rig.api<{ session_id: string }>("POST", "/sessions", { url: site.at(name), idle_ttl_s: 3_600 });
  const { session_id } = await session("shop");
  await session("departures");
  await session("news");
  return {
    job_id: ids.at(-1) ?? "",
    failed_job_id,
    scripted_job_id,
    session_id,
    run_id,
  };
}

interface Shot {
  name: string;
  path: (seeds: Seeds) => string;
  /** Of hub/ui/README.md. */
  gallery?: boolean;
  /** Of the guide, in a size of its own. */
  guide?: OpenOptions;
  prepare?: (ui: UiPage) => Promise<void>;
}

const page = (name: string, path: string, gallery = false): Shot => ({
  name,
  path: () => path,
  gallery,
});

const SHOTS: Shot[] = [
  page("wall", "/ui/browsers", true),
  { name: "fleet", path: () => "/ui/browsers", guide: { width: 1_280, height: 640 } },
  page("submit", "/ui/captures/new", true),
  page("jobs", "/ui/captures", true),
  { name: "jobs-beside", path: ({ job_id }) => `/ui/captures?show=${job_id}` },
  { name: "failed-beside", path: ({ failed_job_id }) => `/ui/captures?show=${failed_job_id}` },
  ...["overview", "log", "assets", "har", "page"].map(
    (tab): Shot => ({
      name: `job-${tab}`,
      path: ({ job_id }) => `/ui/captures/${job_id}?tab=${tab}`,
      gallery: tab === "overview" || tab === "assets" || tab === "har",
    }),
  ),
  { name: "job-failed", path: ({ failed_job_id }) => `/ui/captures/${failed_job_id}` },
  {
    name: "job-attempts",
    path: ({ scripted_job_id }) => `/ui/captures/${scripted_job_id}?tab=attempts`,
    gallery: true,
  },
  { name: "session", path: ({ session_id }) => `/ui/browsers/${session_id}`, gallery: true },
  page("browser-workers", "/ui/system/workers?kind=browser"),
  page("hosts", "/ui/library/hosts"),
  page("hosts-beside", "/ui/library/hosts?show=shop.example"),
  page("host", "/ui/library/hosts/shop.example?recipe=0", true),
  ...["profiles", "engines", "presets", "skills", "conventions", "plugins"].map((name) =>
    page(name, `/ui/library/${name}`),
  ),
  page("overview", "/ui/home", true),
  page("workloads", "/ui/pipelines"),
  page("workload", "/ui/pipelines/invoices", true),
  page("workloads-beside", "/ui/pipelines?show=invoices"),
  page("runs", "/ui/pipelines/runs"),
  { name: "runs-beside", path: ({ run_id }) => `/ui/pipelines/runs?run=${run_id}` },
  { name: "run", path: ({ run_id }) => `/ui/pipelines/invoices?run=${run_id}`, gallery: true },
  page("pull-workers", "/ui/system/workers?kind=pipeline"),
  page("load", "/ui/system/workers?kind=load"),
  page("flow", "/ui/pipelines/flow", true),
  {
    name: "audit",
    path: () => "/ui/system/audit",
    prepare: async ({ page }) => {
      await page.getByLabel("Administrator's password").fill(rig.admin_password);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("table", { name: "Audit log" }).waitFor();
    },
  },
  {
    name: "share",
    path: ({ session_id }) => `/ui/browsers/${session_id}`,
    prepare: async ({ page }) => {
      await page.getByRole("button", { name: "Share the viewer by a link" }).click();
      await page.getByRole("button", { name: "Create a link" }).click();
      await page.getByLabel("Link", { exact: true }).waitFor();
    },
  },
  ...["agents", "logs", "deploys", "tokens", "settings"].map((name) =>
    page(name, `/ui/system/${name}`),
  ),
];

async function take(
  rig: UiRig,
  shot: Shot,
  seeds: Seeds,
  to: string,
  options: OpenOptions = {},
): Promise<void> {
  const ui = await rig.open(shot.path(seeds), options);
  try {
    await ui.page
      .locator("[aria-busy=true]")
      .first()
      .waitFor({ state: "detached", timeout: SETTLED_MS })
      .catch(() => {});
    await ui.page.waitForLoadState("load");
    await shot.prepare?.(ui);
    // Pictures in the page, charts and the screen of a session draw themselves.
    await Bun.sleep(["session", "wall", "fleet"].includes(shot.name) ? 3_000 : 700);
    await ui.page.screenshot({ path: to, animations: "disabled" });
    const wide = await ui.page.evaluate<number>(
      "document.documentElement.scrollWidth - innerWidth",
    );
    if (wide > 0) console.log(`${shot.name} at ${options.width}: ${wide} px wider than the window`);
  } finally {
    await ui[Symbol.asyncDispose]();
  }
}

const args = process.argv.slice(2);
const all = args.indexOf("--all");
const dir = all >= 0 ? args[all + 1] : GALLERY;
const only = args.filter((arg, i) => !arg.startsWith("--") && (all < 0 || i !== all + 1));
if (dir === undefined) throw new Error("--all needs a directory");
mkdirSync(dir, { recursive: true });
const rig = await uiRig({ screens: true });
const site = startGallerySite();
const demo_page = listenDemo("127.0.0.1", 0);
try {
  const seeds = await seed(rig);
  for (const shot of SHOTS.filter(({ name }) => only.length === 0 || only.includes(name))) {
    if (all < 0) {
      if (shot.gallery) await take(rig, shot, seeds, join(dir, `${shot.name}.png`));
      if (shot.guide) await take(rig, shot, seeds, join(GUIDE, `${shot.name}.png`), shot.guide);
      continue;
    }
    for (const { width, height } of Object.values(WINDOWS))
      for (const colors of ["light", "dark"] as const)
        await take(rig, shot, seeds, join(dir, `${shot.name}-${width}-${colors}.png`), {
          width,
          height,
          colors,
        });
  }
} finally {
  await Promise.all([site.stop(), demo_page.stop()]);
  await (globalThis as { flotillaAtEnd?: () => Promise<unknown> }).flotillaAtEnd?.();
}

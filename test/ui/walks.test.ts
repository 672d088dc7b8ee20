import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { uiTasks } from "#test/support/rigs/ui-tasks.ts";
import { Walk, type Walked } from "#test/support/rigs/walk.ts";

/**
 * Ten things that people come for, each from Home with no more than five clicks (rules/web-app#ten-tasks). What it took
 * is printed at the end.
 */

setDefaultTimeout(180_000);

const MOST_CLICKS = 5;
const TITLES: Record<string, string> = {
  "/found": "Chandlery harbour",
  "/shared": "A moment to share",
};

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
let site: ReturnType<typeof Bun.serve>;
const walked: Walked[] = [];
const opened: string[] = [];
let visits = 0;

beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      visits += 1;
      const body = {
        // Wherever the page is clicked, its field gets the focus.
        "/login":
          '<title>Sign in</title><form><label>Name <input name="name" style="position:fixed;inset:0;width:100%;height:100%"></label></form>',
        "/prices": `<title>Prices of today</title><h1>Prices</h1><p>Rope ${visits}</p>`,
      }[pathname];
      const html = `<!doctype html><html lang="en">${body ?? `<title>${TITLES[pathname] ?? "Rope"}</title><h1>Rope</h1>`}`;
      return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
    },
  });
}, 240_000);
afterAll(async () => {
  for (const id of opened) await rig.api("DELETE", `/sessions/${id}`);
  await site?.stop(true);
  for (const { name, clicks, typed, seconds } of walked)
    console.log(`${name}: ${clicks} clicks, ${typed} texts, ${seconds.toFixed(1)} s`);
}, 60_000);

const at = (path: string) => new URL(path, site.url).href;

async function ended(body: object): Promise<Job> {
  const { job_id } = await rig.api<Job>("POST", "/jobs", body);
  return until(`the end of ${job_id}`, 150_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.finished_at === null ? undefined : now;
  });
}
const captured = (path: string) => ended({ url: at(path), options: { idle_seconds: 0.5 } });

/** Begins at Home. */
async function walk(name: string, way: (walk: Walk, ui: UiPage) => Promise<void>): Promise<void> {
  await using ui = await rig.open("/ui/home");
  await ui.page.locator("main :is(.home, .first-run)").waitFor();
  const walking = new Walk(name, ui.page);
  await way(walking, ui);
  const result = walking.done();
  walked.push(result);
  if (Bun.env.WALK_PICTURES)
    await ui.page.screenshot({ path: `${Bun.env.WALK_PICTURES}/${name.replaceAll(" ", "-")}.png` });
  expect(result.clicks).toBeLessThanOrEqual(MOST_CLICKS);
  expect(ui.complaints()).toEqual([]);
}

/** Whether a corner of the recorded screen is white, as these pages are there, and not black for want of a picture. */
const isWhite = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(`[...document.querySelector("canvas[data-shown]")
    .getContext("2d").getImageData(5, 100, 1, 1).data].every((value) => value > 240)`);

/** What is live there follows its name. */
const place = ({ page }: Walk, name: string) =>
  page
    .getByRole("navigation")
    .getByRole("link", { name: new RegExp(`^${name}( [0-9]+ live)?$`) })
    .first();

test("a page is submitted, and its picture is there (rules/web-app#ten-tasks)", () =>
  walk("submit a page and see its picture", async (one) => {
    const { page } = one;
    // A new installation shows how.
    await one.type(page.getByRole("textbox", { name: "Address of the page" }), at("/picture"));
    await one.click(page.getByRole("button", { name: "Capture", exact: true }));
    await page.getByAltText("The page at the end of its capture").waitFor();
  }));

test("why a script failed is found, with the picture of that moment (rules/web-app#ten-tasks)", async () => {
  const code = `import { session } from "flotilla";
await session.click("#never-there", { timeout_s: 1 });`;
  const job = await ended({ url: at("/script"), options: { mode: "rerun", code } });
  expect(job.status).toBe("failed");
  await walk("find why a script failed", async (one) => {
    const { page } = one;
    await one.click(place(one, "Captures"));
    const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
    await one.click(rows.filter({ hasText: "failed" }).first());
    await one.click(page.getByRole("link", { name: "Open capture" }));
    await page.waitForURL(`**/ui/captures/${job.job_id}`);
    await page.locator(".player-act[data-failed][data-now]").waitFor();
    await page.locator("canvas[data-shown]:not([data-shown='0'])").waitFor();
    await until("the page on the picture", 60_000, () => isWhite(page));
  });
});

test("a login is taken over by a person (rules/web-app#ten-tasks)", async () => {
  const session = await rig.api<Session>("POST", "/sessions", {
    url: at("/login"),
    headless: true,
  });
  const { session_id } = session;
  try {
    await walk("take over a login", async (one) => {
      const { page } = one;
      await one.click(place(one, "Browsers"));
      await one.click(page.getByRole("button", { name: "view Sign in" }));
      await one.click(page.getByRole("link", { name: "All of this session" }));
      await page.waitForURL(`**/ui/browsers/${session_id}`);
      await one.click(page.getByRole("button", { name: "Take over" }));
      await page.getByText("You drive").waitFor();
      const viewer = page.frameLocator("iframe");
      await viewer.getByText("Connected", { exact: true }).waitFor();
      await one.click(viewer.locator("canvas"));
      await page.keyboard.type("anna");
      await until("what was typed", 60_000, async () => {
        const asked = { code: 'document.querySelector("input").value' };
        const path = `/sessions/${session_id}/evaluate`;
        return (await rig.api<{ result: string }>("POST", path, asked)).result === "anna";
      });
    });
  } finally {
    await rig.api("DELETE", `/sessions/${session_id}`);
  }
});

test("a workload is made in the page, and its failure is seen (rules/web-app#ten-tasks)", () =>
  walk("make a workload and see its failure", async (one) => {
    const { page } = one;
    await one.click(place(one, "Pipelines"));
    await one.click(page.getByRole("button", { name: "Create a workload" }).first());
    const dialog = page.getByRole("dialog", { name: "Create a workload" });
    await one.type(dialog.getByRole("textbox", { name: "Slug" }), "walk-made");
    const editor = dialog.getByRole("textbox", { name: "Code", exact: true });
    await one.overwrite(editor, "def run(pk):\n    raise ValueError('not today')\n");
    await one.click(dialog.getByRole("button", { name: "Test", exact: true }));
    await dialog.getByText("The task failed").waitFor();
    await dialog.getByText('main.py", line 2').waitFor();
  }));

test("failures are grouped, and one group is retried (rules/web-app#ten-tasks)", async () => {
  const slug = "walk-fails";
  await tasks.make(slug, "echo 'the disk is full' >&2; exit 3");
  await tasks.submit(slug, "a", "b", "c");
  await tasks.settled(slug, { failed: 3 });
  await walk("group failures and retry a group", async (one) => {
    const { page } = one;
    await one.click(place(one, "Pipelines"));
    await one.click(page.getByRole("link", { name: "Failures", exact: true }).first());
    const rows = page.getByRole("table", { name: "Failures" }).locator(".row.body");
    await one.click(rows.filter({ hasText: "the disk is full" }).first());
    await one.click(page.getByRole("button", { name: "Retry…" }));
    await one.click(page.getByRole("dialog").getByRole("button", { name: "Retry 3 tasks" }));
    await page.getByText("3 tasks retried").waitFor();
  });
});

test("a job is found by a word of its title (rules/web-app#ten-tasks)", async () => {
  const job = await captured("/found");
  expect(job.title).toBe("Chandlery harbour");
  await walk("find a job by a word of its title", async (one) => {
    const { page } = one;
    await one.press("Control+K");
    await one.type(page.getByRole("textbox", { name: "Find or do" }), "chandlery");
    await one.click(page.getByRole("button", { name: /Chandlery harbour.*Capture/ }).first());
    await page.waitForURL("**/ui/captures/*");
    await page.getByRole("heading", { name: "Chandlery harbour" }).waitFor();
  });
});

test("a moment is shared (rules/web-app#ten-tasks)", async () => {
  const job = await captured("/shared");
  await walk("share a moment", async (one) => {
    const { page } = one;
    const context = page.context();
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: rig.url });
    try {
      const latest = page.getByRole("region", { name: "Latest captures" });
      await one.click(latest.getByRole("link", { name: /A moment to share/ }));
      await page.waitForURL(`**/ui/captures/${job.job_id}`);
      await page.locator("canvas[data-shown]").waitFor();
      await one.click(page.getByRole("slider", { name: "Place in the recording" }));
      await one.click(page.getByRole("button", { name: "Share moment" }));
      await page.getByText("The link to this moment is copied").waitFor();
      const link = await page.evaluate<string>("navigator.clipboard.readText()");
      expect(link).toMatch(/\/ui\/captures\/[^/]+\?t=[0-9.]+$/);
    } finally {
      await context.clearPermissions();
    }
  });
});

test("two captures are compared (rules/web-app#ten-tasks)", async () => {
  const first = await captured("/prices");
  const second = await captured("/prices");
  await walk("compare two captures", async (one) => {
    const { page } = one;
    await one.click(place(one, "Captures"));
    const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
    await one.click(rows.filter({ hasText: "Prices of today" }).first());
    await one.click(page.getByRole("link", { name: "Open capture" }));
    await one.click(page.getByRole("button", { name: "Compare" }));
    await one.click(page.getByRole("menuitem", { name: /ago|now/ }).first());
    await page.waitForURL(`**/ui/captures/${first.job_id}/diff/${second.job_id}`);
    await page.getByRole("region", { name: "Text" }).getByText("Rope").first().waitFor();
  });
});

test("what the fleet costs is seen: storage, lanes, hosts and each worker (rules/web-app#ten-tasks)", () =>
  walk("see what the fleet costs", async (one) => {
    const { page } = one;
    await page
      .getByRole("region", { name: "Storage" })
      .getByText(/ free$/)
      .waitFor();
    await page
      .getByRole("region", { name: "Running now" })
      .getByText(/of 3 lanes/)
      .waitFor();
    await page.getByRole("region", { name: /^(Slowest hosts|Hosts with trouble)$/ }).waitFor();
    await one.click(place(one, "System"));
    const worker = page.locator(".row.body").first();
    // CPU, memory and disk.
    await worker
      .getByText(/^\d+ %$/)
      .nth(2)
      .waitFor();
  }));

test("a recipe is recorded by clicking, and saved (rules/web-app#ten-tasks)", () =>
  walk("record a recipe", async (one) => {
    const { page } = one;
    await one.click(place(one, "Browsers"));
    await one.click(page.getByRole("button", { name: "Open a session" }).first());
    const form = page.getByRole("dialog", { name: "Open a session" });
    await form.getByRole("textbox", { name: "Address" }).fill(at("/login"));
    await page.keyboard.press("Enter");
    await page.waitForURL("**/ui/browsers/*");
    const session_id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    opened.push(session_id);
    await one.click(page.getByRole("button", { name: "Record my clicks" }));
    const viewer = page.frameLocator("iframe");
    await viewer.getByText("Connected", { exact: true }).waitFor();
    const steps = page.getByRole("list", { name: "Recorded steps" });
    await steps.getByText("Go to").waitFor();
    // What follows is the recipe, not the way to it.
    await viewer.locator("canvas").focus();
    const code = 'document.querySelector("input").focus()';
    await rig.api("POST", `/sessions/${session_id}/evaluate`, { code });
    await page.keyboard.type("anna");
    await steps.getByText("anna", { exact: true }).waitFor();
    await one.click(page.getByRole("button", { name: "Save recipe" }));
    const dialog = page.getByRole("dialog", { name: "Save the steps" });
    await one.click(dialog.getByRole("button", { name: "Save", exact: true }));
    await dialog.waitFor({ state: "detached" });
  }));

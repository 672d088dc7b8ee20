import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { HOSTILE, uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** Code that does not load, and what tasks say of themselves, as people see them. */

setDefaultTimeout(180_000);

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
});

async function makePython(slug: string, source: string): Promise<string> {
  const source_path = join(await mkdtemp(join(tmpdir(), "flotilla-ui-")), "plugin.py");
  await writeFile(source_path, source);
  const executor_config = { source_path, module: "plugin" };
  await tasks.make(slug, "", { executor_type: "python_module", executor_config });
  return source_path;
}

test("a workload whose code does not load says why, on the overview too, until it is mended and loaded again", async () => {
  const slug = "f-exec-broken";
  const source_path = await makePython(slug, "import not_there_at_all");
  await tasks.submit(slug, "a");
  await using ui = await rig.open(`/ui/pipelines/${slug}`);
  await ui.page.getByText("Its code does not load").waitFor();
  await ui.page.getByText("No module named 'not_there_at_all'").first().waitFor();
  await ui.page.getByText("Traceback").waitFor();
  // The same in the head, in the list and in the flow, and red.
  const broken = ui.page.locator('.state[data-tone="bad"]').getByText("Broken", { exact: true });
  await broken.waitFor();
  await using list = await rig.open(`/ui/pipelines?q=${slug}`);
  await list.page.getByRole("row", { name: slug }).getByText("Broken", { exact: true }).waitFor();
  await list.page.goto(`${rig.url}/ui/pipelines/flow?q=${slug}&view=table`);
  await list.page
    .getByRole("row", { name: new RegExp(`Workload ${slug}`) })
    .getByText("Broken", { exact: true })
    .waitFor();
  await using overview = await rig.open("/ui/home");
  await overview.page
    .getByText(/its code does not load on .*not_there_at_all/)
    .first()
    .waitFor();
  await ui.page.getByRole("button", { name: "Load it again" }).click();
  await ui.page.getByText(/^On .*not_there_at_all/).waitFor();
  await writeFile(source_path, "def run(pk): return pk");
  const gone = ui.page.getByText("Its code does not load").waitFor({ state: "detached" });
  // A worker tries by itself too, and may be first: then there is nothing left to click.
  const again = ui.page.getByRole("button", { name: "Load it again" }).click();
  await Promise.race([again.catch(() => {}), gone]);
  await tasks.settled(slug, { pending: 0, claimed: 0 });
  await gone;
  expect(await tasks.runs(slug)).toMatchObject([{ pk: "a", success: true }]);
});

test("progress and log of a task show while it runs and on its run, hostile text as text", async () => {
  const slug = "f-exec-notes";
  const gate = join(await mkdtemp(join(tmpdir(), "flotilla-ui-")), "go");
  await makePython(
    slug,
    `
import os, time
def run(pk, extra, ctx):
    ctx.progress(0.5, "halfway ${HOSTILE.replaceAll('"', "'")}")
    ctx.log("careful now", "warn")
    while not os.path.exists(${JSON.stringify(gate)}): time.sleep(0.05)
    ctx.progress(1, "all of it")
`,
  );
  await tasks.submit(slug, "a");
  await tasks.settled(slug, { claimed: 1 });
  await using ui = await rig.open(`/ui/pipelines/${slug}?task=${slug}/a`);
  await ui.page.getByText("halfway <img").waitFor();
  await ui.page.getByText("50 %").waitFor();
  await ui.page.getByText(/warn +careful now/).waitFor();
  await writeFile(gate, "");
  await until("the run", 60_000, async () => (await tasks.runs(slug)).length === 1);
  await ui.page.getByText("all of it").waitFor();
  await ui.page.getByText("100 %").waitFor();
});

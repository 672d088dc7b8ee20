import { beforeAll, setDefaultTimeout, test } from "bun:test";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { HOSTILE, uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** What runs, what failed and how long the queues are, with problems first (rules/pipeline-views#dashboard-overview). */

setDefaultTimeout(180_000);

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
  await tasks.make("f-over-good", "echo fine");
  await tasks.make("f-over-bad", `printf '%s' '${HOSTILE}' >&2; exit 3`);
  await tasks.submit("f-over-good", "one", "two");
  await tasks.submit("f-over-bad", HOSTILE);
  await tasks.settled("f-over-good", { pending: 0, claimed: 0 });
  await tasks.settled("f-over-bad", { failed: 1 });
});

test("workloads with problems come first, each with its last 20 runs (rules/pipeline-views#dashboard-overview)", async () => {
  await using ui = await rig.open("/ui/home");
  const problems = ui.page.getByRole("table", { name: "Workloads with problems" });
  const bad = problems.getByRole("row").filter({ hasText: "f-over-bad" });
  await bad.getByText("100 % of the last 1 runs failed").waitFor();
  await bad.getByRole("img", { name: "0 of the last 1 runs succeeded" }).waitFor();
  const all = ui.page.getByRole("table", { name: "Workloads", exact: true });
  await all.getByRole("row").filter({ hasText: "f-over-good" }).waitFor();
  await ui.judge();
  await bad.click();
  await ui.page.waitForURL("**/ui/pipelines/f-over-bad");
});

test("a recent failure opens its run, and what it printed is text (rules/pipeline-views#dashboard-overview)", async () => {
  await using ui = await rig.open("/ui/home", { width: 390, height: 844, colors: "dark" });
  const failures = ui.page.getByRole("table", { name: "Recent failures" });
  await failures.getByRole("row").filter({ hasText: HOSTILE }).first().press("Enter");
  const drawer = ui.page.getByRole("dialog", { name: HOSTILE });
  await drawer.getByRole("log", { name: "stderr" }).getByText(HOSTILE).waitFor();
  await drawer.getByText("exited with code 3").first().waitFor();
  await ui.judge();
});

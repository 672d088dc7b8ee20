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

test("workloads with problems are told of first, and queues with what waits in them (rules/pipeline-views#dashboard-overview)", async () => {
  await using ui = await rig.open("/ui/home");
  const problems = ui.page.getByRole("region", { name: "Needs attention" });
  const bad = problems.getByRole("listitem").filter({ hasText: "f-over-bad" });
  await bad.getByText("100 % of the last 1 runs failed").waitFor();
  await ui.judge();
  await bad.getByRole("link", { name: "See the workload" }).click();
  await ui.page.waitForURL("**/ui/pipelines/f-over-bad");
});

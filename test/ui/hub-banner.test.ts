import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** What every page says of a hub that is stopping, and of one that does not work as it should. */

setDefaultTimeout(180_000);

let rig: UiRig;
let hub: TestHub;
beforeAll(async () => {
  rig = await uiRig();
  hub = await startTestHub({ alone: true, env: { SVC_DRAIN_TIMEOUT_S: "300" } });
}, 180_000);
afterAll(() => hub.close());

test("a hub that is stopping says so on its pages, and what it waits for", async () => {
  const worker = await hub.worker({ lanes: 2, resume: null });
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const assigned = await worker.assigned.next();
  const { session_id } = (await hub.call("POST", "/sessions", {})).body;
  await using ui = await rig.open("/ui/system/workers?kind=browser", { url: hub.url });
  const banner = ui.page.getByRole("region", { name: "Hub" });
  const title = banner.getByText("This hub is stopping and assigns no work");
  await ui.page.getByRole("heading", { name: "Workers" }).waitFor();
  expect(await title.count()).toBe(0);
  const stopped = hub.stop();
  await title.waitFor();
  await banner.getByText(/^It waits for 1 job and 1 session, for at most \d+ s/).waitFor();
  const waiting = (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
  await ui.page.goto(`${hub.url}/ui/captures/${waiting}`);
  await ui.page.getByText(/The hub is stopping and no longer assigns anything\./).waitFor();
  await ui.judge();
  worker.finish(assigned);
  await hub.signals.next("job finished", { job_id });
  await hub.call("DELETE", `/sessions/${session_id}`);
  await stopped;
});

import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The explorer of the API at /docs, where SVC_API_TOKEN is set. */

setDefaultTimeout(180_000);

let rig: UiRig;
let hub: TestHub;
beforeAll(async () => {
  rig = await uiRig();
});
afterEach(() => hub.close());

test("the explorer asks for the token, and what is tried out in it goes with the login", async () => {
  hub = await startTestHub({ alone: true, env: { SVC_API_TOKEN: "t0ken" } });
  await using ui = await rig.open("/docs", { url: hub.url });
  const { page } = ui;
  const give = async (token: string) => {
    await page.getByLabel("API token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
  };
  await give("nope");
  await page.getByText("That is not the token.").waitFor();
  await give("t0ken");
  await page.locator("#operations-tag-workers").click();
  const list = page.locator("#operations-workers-listWorkers");
  await list.locator(".opblock-summary-control").click();
  expect(await page.getByLabel("API token").isVisible()).toBe(false);
  await list.getByRole("button", { name: "Try it out" }).click();
  const answered = page.waitForResponse((answer) => answer.url().includes("/workers"));
  await list.getByRole("button", { name: "Execute" }).click();
  expect((await answered).status()).toBe(200);
});

test("the explorer shows the API at once where no token is asked for", async () => {
  hub = await startTestHub({ alone: true });
  await using ui = await rig.open("/docs", { url: hub.url });
  await ui.page.locator("#operations-tag-jobs").click();
  await ui.page.locator("#operations-jobs-submitJob").waitFor();
  expect(await ui.page.getByLabel("API token").isVisible()).toBe(false);
});

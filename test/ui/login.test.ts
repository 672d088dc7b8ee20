import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Where SVC_API_TOKEN is set the app asks for it; a control plane shows the parts it has (rules/web-app#login-of-the-app). */

setDefaultTimeout(180_000);

let rig: UiRig;
let hub: TestHub;
beforeAll(async () => {
  rig = await uiRig();
});
afterEach(() => hub.close());

/** What a call that was refused leaves in the console. */
const REFUSED = /status of 401/;

test("the app asks for the API token once: a wrong one is told, the right one lasts for the next page", async () => {
  hub = await startTestHub({ alone: true, env: { SVC_API_TOKEN: "t0ken" } });
  await using ui = await rig.open("/ui/captures", { url: hub.url });
  const dialog = ui.page.getByRole("dialog", { name: "This server asks for its token" });
  const give = async (token: string) => {
    await dialog.getByLabel("API token").fill(token);
    await dialog.getByRole("button", { name: "Log in" }).click();
  };
  await give("nope");
  await dialog.getByText("That is not the token.").waitFor();
  await give("t0ken");
  // The dialog is gone once it has been answered, before the server has.
  await ui.page.getByRole("button", { name: "Log out" }).waitFor();
  await ui.page.getByText("Connected", { exact: true }).waitFor();
  await ui.page.reload();
  await ui.page.getByText("Connected", { exact: true }).waitFor();
  expect(await dialog.count()).toBe(0);
  await ui.judge(REFUSED);
});

test("a control plane alone leads to Home and has no pages of the fleet", async () => {
  hub = await startTestHub({ mode: "control" });
  await using ui = await rig.open("/", { url: hub.url });
  await ui.page.waitForURL("**/ui/home");
  const pages = ui.page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "Pipelines" }).waitFor();
  expect(await pages.getByRole("link", { name: "Captures" }).count()).toBe(0);
  await ui.page.goto(`${hub.url}/ui/captures`);
  await ui.page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await ui.judge();
});

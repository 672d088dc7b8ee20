import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Tokens with roles in the admin UI, and browsers that are let in with them. */

setDefaultTimeout(180_000);

let rig: UiRig;
let hub: TestHub;
beforeAll(async () => {
  rig = await uiRig();
});
afterEach(() => hub?.close());

/** What calls that were refused leave in the console. */
const REFUSED = /status of (401|403)/;

test("the first token closes the server, is shown once, and leaves the browser that made it in", async () => {
  hub = await startTestHub({ alone: true, env: { SVC_HOST: "0.0.0.0" } });
  await using ui = await rig.open("/ui/system/tokens", { url: hub.url });
  const { page } = ui;
  await page.getByText("This server is open").waitFor();
  await page.getByRole("button", { name: "New token" }).first().click();
  const form = page.getByRole("region", { name: "New token" });
  await form.getByLabel("Name").fill("me");
  await form.getByRole("button", { name: "Create the token" }).click();
  const token = await page.getByText(/^flt_[\w-]{43}$/).textContent();
  await page.getByText("workers still join without a secret").waitFor();
  await page.getByRole("button", { name: "It is kept" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
  await page.getByText("This server is open").waitFor({ state: "detached" });
  expect((await hub.call("GET", "/jobs")).status).toBe(401);
  await page.getByRole("button", { name: "Log out" }).click();
  const dialog = page.getByRole("dialog", { name: "This server asks for its token" });
  await dialog.getByLabel("API token").fill(token ?? "");
  await dialog.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Revoke" }).waitFor();
  await ui.judge(REFUSED);
});

test("a viewer who wants to do what needs an admin is asked for one", async () => {
  hub = await startTestHub({
    ...{ alone: true, env: { SVC_ADMIN_PASSWORD: "password-of-the-test" } },
  });
  const headers = { "x-admin-password": "password-of-the-test" };
  const made = await hub.call("POST", "/tokens", { name: "v", role: "viewer" }, { headers });
  await using ui = await rig.open("/ui/captures", { url: hub.url });
  const { page } = ui;
  const give = async (title: string, label: string, secret: string) => {
    const dialog = page.getByRole("dialog", { name: title });
    await dialog.getByLabel(label).fill(secret);
    await dialog.getByRole("button", { name: "Log in" }).click();
  };
  await give("This server asks for its token", "API token", made.body.token);
  await page.getByRole("button", { name: "Log out" }).waitFor();
  await page.getByRole("link", { name: "System" }).click();
  await page.getByRole("link", { name: "Tokens" }).click();
  await give("Only the administrator may do this", "Administrator's password", "wrong");
  await page.getByText("That is not the password.").waitFor();
  await give(
    ...(["Only the administrator may do this", "Administrator's password"] as const),
    "password-of-the-test",
  );
  await page.getByRole("button", { name: "Leave administrator" }).waitFor();
  await page.getByText("viewer", { exact: true }).waitFor();
  await ui.judge(REFUSED);
});

test("the link of dev mode logs in, and is gone from the address", async () => {
  hub = await startTestHub({
    alone: true,
    env: { SVC_API_TOKEN: "t0ken", SVC_ADMIN_PASSWORD: "password-of-the-test" },
  });
  const code = await hub.ctx.logins.newCode();
  await using ui = await rig.open(`/#login=${code}`, { url: hub.url });
  await ui.page.getByRole("button", { name: "Leave administrator" }).waitFor();
  expect(ui.page.url()).not.toContain(code);
  await ui.page.reload();
  await ui.page.getByRole("button", { name: "Leave administrator" }).waitFor();
  await ui.judge();
});

import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Host } from "#shared/protocol/schema/host.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Hosts and their cookies in the admin UI (rules/hosts#host-record). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const hostOf = (name: string) => rig.api<Host>("GET", `/hosts/${name}`);
const names = async () =>
  (await rig.api<{ hosts: Host[] }>("GET", "/hosts")).hosts.map(({ host }) => host);
const HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>';

test("a host is made from a pasted address, its settings written, and it is deleted (rules/hosts#replace-a-host)", async () => {
  await using ui = await rig.open("/ui/library/hosts");
  const { page } = ui;
  await page.getByRole("button", { name: "New host" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New host" });
  await dialog.getByLabel("Host").fill("not a host");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("must be a host name").waitFor();
  await dialog.getByLabel("Host").fill("https://D-Shop.example:8443/a/b?c");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.waitForURL("**/ui/library/hosts/d-shop.example");

  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByRole("radio", { name: "Same tab" }).check();
  await page.getByRole("combobox", { name: "Recording" }).click();
  await page.getByRole("option", { name: "Nothing" }).click();
  await page.getByLabel("Notes").fill(HOSTILE);
  await page.getByRole("button", { name: "Save settings" }).click();
  await page.getByText("The settings were saved").waitFor();
  expect(await hostOf("d-shop.example")).toMatchObject({
    popup_policy: "same_tab",
    record: "off",
    notes: HOSTILE,
  });
  await ui.judge(/422/);

  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: "Delete host…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForURL("**/ui/library/hosts");
  expect(await names()).not.toContain("d-shop.example");
});

test("the list is filtered in the address, shows hostile notes as text, and deletes what is selected", async () => {
  await rig.api("PUT", "/hosts/d-one.example", { notes: HOSTILE });
  await rig.api("PUT", "/hosts/d-two.example", { notes: "the other" });
  await using ui = await rig.open("/ui/library/hosts?q=d-");
  const { page } = ui;
  await page.getByText(HOSTILE).waitFor();
  await page.keyboard.press("/");
  await page.getByLabel("Filter hosts").fill("d- other");
  await page.getByText("d-one.example").waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("d-two.example").waitFor();
  expect(await page.getByText("d-one.example").count()).toBe(0);
  await page.getByLabel("Filter hosts").fill("d-");
  await ui.judge();
  await page.getByLabel("Select d-one.example").check();
  await page.getByLabel("Select d-two.example").check();
  const chosen = page.getByRole("toolbar", { name: "Selection" });
  await chosen.getByText("2 selected").waitFor();
  await chosen.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await until("both are gone", 60_000, async () =>
    (await names()).every((name) => !["d-one.example", "d-two.example"].includes(name)),
  );
});

test("cookies are added, given another value, replaced as JSON and deleted; no value is ever shown (rules/hosts#cookies-of-a-host)", async () => {
  await rig.api("PUT", "/hosts/d-jar.example/cookies", {
    cookies: [{ name: "old", value: "d-secret-1", domain: "d-jar.example" }],
  });
  await using ui = await rig.open("/ui/library/hosts/d-jar.example?tab=cookies");
  const { page } = ui;
  await page.getByRole("button", { name: "Add a cookie" }).click();
  const form = page.getByRole("dialog", { name: "New cookie" });
  await form.getByLabel("Name").fill("d-new");
  await form.getByLabel("Value", { exact: true }).fill("d-secret-2");
  await form.getByLabel("Path").fill("no-slash");
  await form.getByRole("button", { name: "Save cookie" }).click();
  await form.getByText(/path must/).waitFor();
  await form.locator("input:focus").and(form.getByLabel("Path")).waitFor();
  await form.getByLabel("Path").fill("/a");
  await form.getByLabel("Secure").check();
  await form.getByRole("button", { name: "Save cookie" }).click();
  await page.getByRole("row").filter({ hasText: "d-new" }).waitFor();
  const jar = async () => (await hostOf("d-jar.example")).cookies;
  expect(await jar()).toContainEqual({
    ...{ name: "d-new", value: "***", domain: "d-jar.example", path: "/a", expires: -1 },
    ...{ http_only: false, secure: true, same_site: "Lax" },
  });

  await page.getByRole("row").filter({ hasText: "d-new" }).getByText("d-new").click();
  const change = page.getByRole("dialog", { name: "Change a cookie" });
  await change.getByLabel("HttpOnly").check();
  await change.getByRole("button", { name: "Save cookie" }).click();
  await change.waitFor({ state: "detached" });
  expect((await jar()).find(({ name }) => name === "d-new")?.http_only).toBe(true);
  await ui.judge(/422/);

  await page.getByLabel(/^Select \["old"/).check();
  await page.getByRole("button", { name: "Delete selected" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("old", { exact: true }).waitFor({ state: "detached" });
  expect((await jar()).map(({ name }) => name)).toEqual(["d-new"]);

  await page.getByRole("button", { name: "Replace all with JSON" }).click();
  const json = page.getByRole("dialog", { name: "Replace all cookies" });
  expect(await json.getByLabel("JSON").inputValue()).toContain('"value": "***"');
  await json
    .getByLabel("JSON")
    .fill('[{"name": "third", "value": "d-secret-3", "domain": ".d-jar.example"}]');
  await json.getByRole("button", { name: "Replace all cookies" }).click();
  await page.getByRole("row").filter({ hasText: "third" }).waitFor();
  expect((await jar()).map(({ name }) => name)).toEqual(["third"]);
  expect(await page.content()).not.toContain("d-secret");
  await rig.api("DELETE", "/hosts/d-jar.example");
});

test("a host that is not there says what to do; the list is usable on a small screen", async () => {
  await using ui = await rig.open("/ui/library/hosts/d-nothing.example", {
    width: 390,
    height: 844,
  });
  const { page } = ui;
  await page.getByRole("heading", { name: "This host has no settings" }).waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByText("Hosts").click();
  await page.getByRole("heading", { level: 1, name: "Hosts" }).waitFor();
  const wide = "document.documentElement.scrollWidth > innerWidth";
  await until("no sideways scrolling", 60_000, async () => !(await page.evaluate(wide)));
  await ui.judge(/404/);
});

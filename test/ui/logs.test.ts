import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type UiRig, uiRig } from "#test/support/ui-rig.ts";

/** Pipeline spec §4.6: service logs in the admin UI. */

setDefaultTimeout(60_000);

const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(1)</script>`;
const HOST = "e-logs-host";

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const ship = (...messages: string[]) =>
  rig.api("POST", "/api/v1/service-logs", {
    ...{ host: HOST, service: "worker" },
    logs: messages.map((message, i) => ({
      ...{ ts: new Date(Date.now() - 60_000 + i).toISOString(), level: "warn", message },
      fields: { html: HOSTILE, n: i },
    })),
  });

test("§4.6 lines are followed, paused, unfolded, filtered by the address and read further back", async () => {
  await ship(...Array.from({ length: 450 }, (_, i) => `e-line ${i}`), HOSTILE);
  await using ui = await rig.open(`/ui/logs?host=${HOST}&min_level=warn`);
  const { page } = ui;
  const log = page.getByRole("log", { name: "Service logs" });
  await log.getByText(HOSTILE, { exact: true }).waitFor();
  await log.getByRole("button", { name: `2 fields of ${HOSTILE}` }).click();
  await log.getByText("onerror", { exact: false }).last().waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Older" }).click();
  await page.getByText("451 lines, following").waitFor();
  await page.getByRole("button", { name: "This is the beginning" }).waitFor();
  await ship("e-live");
  await page.getByText("452 lines, following").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("452 lines, paused").waitFor();
  expect(page.url()).toContain("follow=off");
  await page.getByLabel("Text", { exact: true }).fill("e-live");
  await page.getByLabel("Text", { exact: true }).press("Enter");
  await page.getByText("1 line, paused").waitFor();
  await page.reload();
  await page.getByText("1 line, paused").waitFor();
  await page.getByLabel("Text", { exact: true }).fill("e-nothing");
  await page.getByLabel("Text", { exact: true }).press("Enter");
  await page.getByRole("heading", { name: "No lines" }).waitFor();
  await ui.judge();
});

import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Service logs in the admin UI (rules/pipeline-operations#service-logs). */

setDefaultTimeout(180_000);

const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(1)</script>`;
const HOST = "e-logs-host";
const LONG_AGO = "2000-01-01T00:00:00Z";

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

test("lines are followed, paused, unfolded, filtered by the address and read further back (rules/pipeline-operations#service-logs)", async () => {
  await ship(...Array.from({ length: 450 }, (_, i) => `e-line ${i}`), HOSTILE);
  await using ui = await rig.open(`/ui/system/logs?host=${HOST}&min_level=warn`);
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

test("lines are narrowed to a time in the browser's own zone, typed by keys; the address keeps it (rules/pipeline-operations#service-logs)", async () => {
  const host = "e-logs-times";
  const now = Date.now();
  const day = (days: number) => new Date(now - days * 86_400_000).toISOString().slice(0, 10);
  await rig.api("POST", "/api/v1/service-logs", {
    ...{ host, service: "worker" },
    logs: [4, 3, 2].map((days) => ({
      ...{ ts: `${day(days)}T12:00:00.000Z`, level: "warn", message: `e-day ${days}` },
    })),
  });
  // A page of the rig has the zone of the machine.
  await using ui = await rig.open("/ui/system/logs?host=e-logs-nobody");
  const browser = ui.page.context().browser();
  if (browser === null) throw new Error("the page has no browser");
  await using context = await browser.newContext({ timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const broken: string[] = [];
  page.on("pageerror", (err) => void broken.push(err.message));
  await page.goto(`${rig.url}/ui/system/logs?host=${host}`);
  await page.getByText("3 lines, following").waitFor();
  const local = (iso: string) =>
    new Date(iso)
      .toLocaleString("sv-SE", {
        timeZone: "Europe/Berlin",
        dateStyle: "short",
        timeStyle: "short",
      })
      .replace(" ", "T");
  const since = page.getByLabel("Since");
  const until = page.getByLabel("Until");

  await since.fill("2020-01-01T13:30");
  await page.waitForURL("**since=2020-01-01T12**");
  const [year, month, date] = day(3).split("-");
  await until.focus();
  await since.focus();
  // While it is typed the year is 0002, 0020 and 0202; the time of day stays.
  await page.keyboard.type(`${month}${date}${year}`);
  expect(await since.inputValue()).toBe(`${day(3)}T13:30`);
  await page.waitForURL(
    ({ searchParams }) => local(searchParams.get("since") ?? LONG_AGO) === `${day(3)}T13:30`,
  );
  await page.getByText("1 line, following").waitFor();
  await page.getByText("e-day 2").waitFor();

  await since.fill(`${day(3)}T10:00`);
  await page.getByText("2 lines, following").waitFor();
  await until.fill(`${day(3)}T23:00`);
  await page.getByText("1 line, paused").waitFor();
  await page.getByText("e-day 3").waitFor();
  expect(await page.getByRole("button", { name: "Follow" }).isDisabled()).toBe(true);
  await page.reload();
  await page.getByText("1 line, paused").waitFor();
  expect([await since.inputValue(), await until.inputValue()]).toEqual([
    `${day(3)}T10:00`,
    `${day(3)}T23:00`,
  ]);
  await until.fill("20266-01-01T00:00");
  await page.getByText("2 lines, following").waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.waitForURL("**/ui/system/logs");
  expect(broken).toEqual([]);
});

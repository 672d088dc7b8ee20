import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { failureOf, openBySelenium } from "#test/support/clients/selenium.ts";
import {
  type FleetProcesses,
  processesOf,
  startFleet,
  until,
} from "#test/support/rigs/fleet-process.ts";

/** What becomes of chromedriver with its worker, and of a worker without one (rules/webdriver). */

setDefaultTimeout(300_000);

let fleet: FleetProcesses | undefined;
afterEach(async () => {
  await fleet?.stop();
  fleet = undefined;
});

const driversOf = ({ dir }: FleetProcesses) =>
  processesOf(dir).filter(({ command }) => command.includes("--url-base="));

test("chromedriver dies with its worker, however that ends", async () => {
  fleet = await startFleet({ lanes: 1, headless: true, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm();
  const running = fleet;
  await openBySelenium(fleet.url);
  expect(driversOf(fleet)).toHaveLength(1);
  fleet.worker.kill("SIGKILL");
  await until("the end of chromedriver", 60_000, () => driversOf(running).length === 0);
});

test("a worker without chromedriver says what to install, and serves everything else", async () => {
  // Every program of the machine but this one.
  const inDirectory = (dir: string) => {
    const bin = join(dir, "bin");
    mkdirSync(bin);
    for (const name of readdirSync("/usr/bin"))
      if (name !== "chromedriver") symlinkSync(join("/usr/bin", name), join(bin, name));
    return { PATH: `${bin}:${dirname(process.execPath)}` };
  };
  fleet = await startFleet({
    lanes: 1,
    headless: true,
    inDirectory,
    env: { SVC_DRAIN_TIMEOUT_S: "1" },
  });
  await fleet.lanesWarm();
  const refused = String(await failureOf(openBySelenium(fleet.url)));
  expect(refused).toContain("has no chromedriver: install chromium-driver there");
  const opened = await fetch(`${fleet.url}/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ headless: true }),
  });
  expect(opened.status).toBe(201);
});

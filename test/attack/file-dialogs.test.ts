import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { laneEnv, makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { createLanePool, type LanePool } from "#worker/browser/lanes/pool.ts";
import { normaliseProfile } from "#worker/browser/profile/normalise.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** Nobody who clicks in a lane, over VNC or by a script, browses the disk of its worker. */

const SLOW_MS = 240_000;
let pool: LanePool;
let data_dir: string;
beforeAll(async () => {
  data_dir = makeDataDir();
  const config = loadWorkerConfig(laneEnv(data_dir, { LANE_POOL: "1" }), {});
  pool = await createLanePool({ config, log: silentLog, clock: systemClock });
}, SLOW_MS);
afterAll(async () => {
  await pool?.close();
  rmSync(data_dir, { recursive: true, force: true });
}, SLOW_MS);

const PAGE = `<input type="file" id="one"><input type="file" id="all" multiple webkitdirectory>
<button id="handle">open</button><button id="save">save</button><button id="folder">folder</button><script>
  told = {};
  for (const id of ["one", "all"]) {
    const of = document.getElementById(id);
    of.addEventListener("cancel", () => { told[id] = "cancelled"; });
    of.addEventListener("change", () => { told[id] = of.files[0].name; });
  }
  const pick = (id, open) => document.getElementById(id).addEventListener("click", () =>
    open().then(() => { told[id] = "chosen"; }, (err) => { told[id] = err.name; }));
  pick("handle", () => showOpenFilePicker());
  pick("save", () => showSaveFilePicker());
  pick("folder", () => showDirectoryPicker());
</script>`;

async function onLane<T>(headless: boolean, use: (page: Page, browser: Browser) => Promise<T>) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(PAGE, { headers: { "content-type": "text/html" } }),
  });
  await until("a free lane", 60_000, () => pool.lanes()[0]?.state === "warm");
  const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
  if (!hold) throw new Error("the lane is not free");
  try {
    const lane = await hold.browser({ headless });
    const browser = await chromium.connectOverCDP(lane.cdp_url);
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("the browser has no page");
    page.setDefaultTimeout(120_000);
    await page.goto(`http://127.0.0.1:${server.port}/`);
    return await use(page, browser).finally(() => browser.close());
  } finally {
    await hold.release();
    await server.stop(true);
  }
}

for (const headless of [false, true])
  test(
    `a click on whatever asks for a file is cancelled at once, in a ${headless ? "headless" : "headful"} lane`,
    async () => {
      await onLane(headless, async (page) => {
        for (const [id, told] of [
          ["one", "cancelled"],
          ["all", "cancelled"],
          ["handle", "AbortError"],
          ["save", "AbortError"],
          ["folder", "AbortError"],
        ] as const) {
          // A pointer's click, as the viewer's; a dialog would leave the page without an answer.
          const box = await page.locator(`#${id}`).boundingBox();
          await page.mouse.click((box?.x ?? 0) + 10, (box?.y ?? 0) + 10);
          await page.waitForFunction(`told.${id} !== undefined`, null, { timeout: 120_000 });
          expect([id, await page.evaluate<unknown>(`told.${id}`)]).toEqual([id, told]);
        }
      });
    },
    SLOW_MS,
  );

test(
  "files that the API gives are taken, and a CDP client that waits for the chooser has it",
  async () => {
    await onLane(false, async (page) => {
      const file = { name: "given.txt", mimeType: "text/plain", buffer: Buffer.from("given") };
      await page.setInputFiles("#one", file);
      expect(await page.evaluate<unknown>("told.one")).toBe("given.txt");
      const chooser = page.waitForEvent("filechooser");
      await page.click("#one");
      await (await chooser).setFiles({ ...file, name: "chosen.txt" });
      expect(await page.evaluate<unknown>("told.one")).toBe("chosen.txt");
    });
  },
  SLOW_MS,
);

test("a profile that brings its own state gets no dialogs either", async () => {
  const user_data = join(data_dir, "profile");
  await mkdir(join(user_data, "Default"), { recursive: true });
  const file = join(user_data, "Local State");
  for (const text of [
    '{"select_file_dialogs":{"allowed":true},"os":1}',
    "broken",
    '{"select_file_dialogs":7}',
  ]) {
    await writeFile(file, text);
    await normaliseProfile(user_data);
    expect(await Bun.file(file).json()).toMatchObject({ select_file_dialogs: { allowed: false } });
  }
  rmSync(file);
  await normaliseProfile(user_data);
  expect(await Bun.file(file).json()).toMatchObject({ select_file_dialogs: { allowed: false } });
});

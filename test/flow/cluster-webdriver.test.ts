import { beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { shareTwoHubs } from "#test/support/rigs/two-hubs.ts";

/** WebDriver at a hub without a lane: the one that has it opens the session, and answers its commands (rules/webdriver#addresses). */

setDefaultTimeout(180_000);
const rig = shareTwoHubs();

beforeEach(() => {
  const value = { capabilities: { browserName: "chrome" } };
  rig.bridge.webdriver.set("POST ", () => Response.json({ value }));
  rig.bridge.webdriver.set("GET /title", () => Response.json({ value: "A title" }));
});

const start = () => rig.workerAt(rig.owner, { capabilities: { webdriver: true } as never });
const open = (more: object = {}) =>
  rig.asked.call("POST", "/wd/hub/session", {
    capabilities: { alwaysMatch: { "flotilla:options": more } },
  });

test("a session is opened, steered and ended through a hub that does not have it", async () => {
  const there = await start();
  const { body } = await open({ headless: true });
  expect(await there.opening.next()).toMatchObject({ headless: true });
  const { sessionId, capabilities } = body.value;
  expect(capabilities).toMatchObject({ browserName: "chrome", "flotilla:session": sessionId });
  const host = new URL(rig.asked.url).host;
  expect(capabilities["se:cdp"]).toBe(`ws://${host}/sessions/${sessionId}/cdp`);
  const at = `/session/${sessionId}`;
  expect((await rig.asked.call("GET", `${at}/title`)).body).toEqual({ value: "A title" });
  expect((await rig.asked.call("DELETE", `/wd/hub${at}`)).body).toEqual({ value: null });
  expect(await there.closing.next()).toMatchObject({ reason: "its WebDriver client quit" });
  const gone = await rig.asked.call("GET", `${at}/title`);
  expect(gone).toMatchObject({ status: 404, body: { value: { error: "invalid session id" } } });
});

test("a worker that is named is asked at its hub, and what it refuses is told", async () => {
  const there = await start();
  const value = { error: "session not created", message: "only supports Chrome version 1" };
  rig.bridge.webdriver.set("POST ", () => Response.json({ value }, { status: 500 }));
  const { status, body } = await open({ worker_id: there.worker_id });
  expect({ status, body }).toMatchObject({ status: 500, body: { value } });
  await there.closing.next();
});

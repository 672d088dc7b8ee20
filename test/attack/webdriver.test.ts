import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { attempting } from "#test/support/rigs/attempts.ts";
import { type SessionFleet, startSessionFleet } from "#test/support/rigs/session-fleet.ts";
import { CAPABILITIES, COMMANDS, WEBDRIVER } from "./lists/webdriver.ts";

/** A hostile client of WebDriver has what a CDP client of its lane has, and learns nothing of the worker. */

setDefaultTimeout(180_000);

let fleet: SessionFleet;
beforeAll(async () => {
  fleet = await startSessionFleet();
});
afterAll(() => fleet?.stop());

const made = attempting(WEBDRIVER);

async function call(method: string, path: string, body?: object) {
  const answer = await fetch(fleet.url + path, {
    method,
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, text, value: JSON.parse(text).value };
}
const openOf = (capabilities: object) =>
  call("POST", "/session", { capabilities: { alwaysMatch: capabilities } });

/** Words of this machine: chromedriver's addresses in memory, and places on its disk. */
const OF_THE_MACHINE = /0x[0-9a-f]{6,}|\/tmp\/flotilla|user-data|root:x:/;

test("no command reaches the machine, Chromium's own pages or another session; the session goes on", async () => {
  const { value } = await openOf({});
  const at = `/session/${value.sessionId}`;
  for (const [what, { method, path, body }] of Object.entries(COMMANDS)) {
    const answer = await call(method, `${at}/${path}`, body);
    expect({ what, error: typeof answer.value?.error }).toEqual({ what, error: "string" });
    expect({ what, text: answer.text }).not.toMatchObject({
      text: expect.stringMatching(OF_THE_MACHINE),
    });
    made.refused(what);
  }
  expect(await call("GET", `${at}/title`)).toMatchObject({ status: 200, value: "" });
  expect(await call("DELETE", at)).toMatchObject({ status: 200 });
});

test("no capability chooses another browser, or starts one otherwise", async () => {
  for (const [what, capabilities] of Object.entries(CAPABILITIES)) {
    const { value } = await openOf(capabilities);
    expect({ what, error: value.error }).toEqual({ what, error: "session not created" });
    made.refused(what);
  }
  const { sessions } = (await (await fetch(`${fleet.url}/sessions`)).json()) as {
    sessions: unknown[];
  };
  expect(sessions).toEqual([]);
});

test("every attempt of the list was made", () => {
  expect(made.left()).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { rawUntil } from "#test/support/clients/raw-request.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { SMUGGLED, SMUGGLED_PATH, SMUGGLING } from "./lists/smuggled.ts";

/** Bytes on the real listener that it might read as another request than a router in front of it did. */

const tried = attempting(SMUGGLING);
let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ alone: true });
});
afterAll(() => hub?.close());

test.each(Object.keys(SMUGGLED))("refused, and no request comes out of it: %s", async (name) => {
  const { bytes, answers } = SMUGGLED[name] ?? { bytes: "", answers: [] };
  const from = hub.log.length;
  const answer = await rawUntil(hub.url, bytes, /^HTTP\/1\.1 (\d{3})/);
  expect(answers).toContain(Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0));
  // What came before on other connections is answered by then, and so is all that was sent on that one.
  expect((await hub.call("GET", "/health")).status).toBe(200);
  const lines = hub.log.slice(from);
  expect(lines.filter(({ path }) => String(path).includes(SMUGGLED_PATH))).toEqual([]);
  expect(lines.filter(({ level }) => level === "error")).toEqual([]);
  tried.refused(name);
});

test("every attempt of the list was made", () => {
  expect(tried.left()).toEqual([]);
});

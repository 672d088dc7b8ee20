import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type OpenSession, type SessionRig, startSessionRig } from "#test/support/session-rig.ts";

let rig: SessionRig;
let session: OpenSession;

beforeAll(async () => {
  rig = await startSessionRig();
  session = await rig.open();
}, 30_000);
afterAll(() => rig.close(), 30_000);

const titled = (title: string, body = "") =>
  `document.title = ${JSON.stringify(title)}; document.body.innerHTML = ${JSON.stringify(body)};`;

describe("evaluate (§4.2)", () => {
  test("expressions, functions and statements give their value", async () => {
    expect(await session.get("evaluate", { code: "1 + 1" })).toBe(2);
    expect(await session.get("evaluate", { code: "(a) => a.n * 2", arg: { n: 4 } })).toBe(8);
    expect(await session.get("evaluate", { code: "async () => 5" })).toBe(5);
    expect(
      await session.get("evaluate", { code: "const a = await 3; return a + arg;", arg: 1 }),
    ).toBe(4);
    expect(await session.get("evaluate", { code: "undefined" })).toBeNull();
    await session.get("evaluate", { code: titled("here") });
    const { place } = await session.call("state");
    expect(place).toEqual({ url: "about:blank", title: "here", tabs: 1 });
  });
});

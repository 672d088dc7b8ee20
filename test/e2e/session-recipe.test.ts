import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type OpenSession,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import { type LoginSite, startLoginSite } from "#test/support/servers/site/login.ts";

let rig: SessionRig;
let site: LoginSite;
let session: OpenSession;
beforeAll(async () => {
  [rig, site] = await Promise.all([startSessionRig(), startLoginSite()]);
  session = await rig.open({ url: `${site.origin}/login` });
}, 180_000);
afterAll(async () => {
  await rig.close();
  await site.stop();
});

const placeholder = "$" + "{ENV:PASS}";
const steps = () => [
  { kind: "fill", selector: "#user", text: site.user },
  { kind: "fill", selector: "#password", text: placeholder },
  { kind: "click", selector: "#submit" },
  { kind: "wait", selector: "#hello" },
];

describe("POST /sessions/{sid}/recipe (rules/session-actions#recipe-in-a-session)", () => {
  test("runs every step on the active tab in one call, and shows no value", async () => {
    const { hostname } = new URL(site.origin);
    const secrets = { secrets: { PASS: site.password }, secret_hosts: { PASS: [hostname] } };
    const args = { actions: steps(), ...secrets };
    const reply = await session.call("recipe", args, 60_000);
    expect(reply).toMatchObject({ ok: true, place: { url: `${site.origin}/private` } });
    const { steps: told } = reply.result as { steps: string[] };
    expect(told.map((line) => line.replace(/\d+ ms$/, "N ms"))).toEqual([
      "1/4 fill #user: N ms",
      "2/4 fill #password: N ms",
      "3/4 click #submit: N ms",
      "4/4 wait #hello: N ms",
    ]);
    expect(JSON.stringify(reply)).not.toContain(site.password);
  });

  test("tells the step that failed: 422 for what the page refused, 504 when time is over", async () => {
    const missing = await session.call("recipe", { actions: steps() }, 60_000);
    expect(missing).toMatchObject({ ok: false, kind: "invalid" });
    expect(missing.error?.message).toContain("PASS must be listed in the hub's SVC_RECIPE_ENV");
    const bad = [{ kind: "click", selector: "[[" }];
    expect(await session.call("recipe", { actions: bad }, 60_000)).toMatchObject({ kind: "page" });
    const never = [{ kind: "wait", selector: "#never" }];
    expect(await session.call("recipe", { actions: never }, 2_000)).toMatchObject({
      kind: "timeout",
      error: {
        message:
          "recipe failed at step 1/1 wait #never: no element matches; timeout_s of the recipe (2 s) is over",
      },
    });
    const guarded = [{ kind: "navigate", url: "http://169.254.169.254/" }];
    const refused = await session.call("recipe", { actions: guarded }, 60_000);
    expect(refused.error?.message).toContain("refused to open it");
  });
});

import { expect, test } from "bun:test";
import { withoutLogin } from "#hub/ui/client/fleet/options/way-out.ts";
import { bodyOf, DEFAULTS } from "#hub/ui/client/fleet/session/new-session.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";

/** What the form of a new session sends of the way out. */

test("a form in which nothing is said of the way out sends nothing of it", () => {
  expect(bodyOf(DEFAULTS)).toEqual({});
});

test("what is said is sent as the API takes it", () => {
  const body = bodyOf({
    ...DEFAULTS,
    egress_mode: "public",
    egress_allow: "10.0.0.0/8, *.example.com:443",
    egress_deny: "ads.test\ntracker.test",
    proxy: " http://me:hush@proxy.test:3128 ",
  });
  expect(CreateSession.parse(body)).toMatchObject({
    egress: {
      mode: "public",
      allow: ["10.0.0.0/8", "*.example.com:443"],
      deny: ["ads.test", "tracker.test"],
    },
    proxy: { server: "http://proxy.test:3128", username: "me", password: "hush" },
  });
  expect(bodyOf({ ...DEFAULTS, egress_deny: "ads.test" })).toEqual({
    egress: { mode: null, allow: [], deny: ["ads.test"] },
  });
});

test.each([
  ["http://me:hush@proxy.test:3128", "http://***@proxy.test:3128"],
  ["me:hu@sh@proxy.test", "***@proxy.test"],
  ["socks5://proxy.test", "socks5://proxy.test"],
])("the command beside the form shows %s as %s", (given, shown) => {
  expect(withoutLogin(given)).toBe(shown);
});

import { expect, test } from "bun:test";
import { givenOf, optionsOfAddress, withOption } from "#hub/ui/client/fleet/options/values.ts";
import {
  egressText,
  egressWith,
  entriesOf,
  proxyWith,
  shownProxy,
  withLoginApart,
} from "#hub/ui/client/fleet/options/way-out.ts";
import { bodyOf, DEFAULTS } from "#hub/ui/client/fleet/session/new-session.ts";
import { curlOf, bodyOf as jobBody } from "#hub/ui/client/fleet/submit/body.ts";
import { JobOptions, SubmitJob } from "#shared/protocol/schema/job.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";

/** What the forms of jobs, presets and sessions send of the way out (rules/egress#narrow-a-job, rules/egress#proxies). */

const LOGIN = { username: "me", password: "hush" };
const SERVER = "http://proxy.test:3128";
const proxy = (changed: Parameters<typeof proxyWith>[1] = {}) => {
  const made = proxyWith(null, { server: SERVER, ...changed });
  if (!made) throw new Error("no server was named");
  return made;
};

test("a form in which nothing is said of the way out sends nothing of it", () => {
  expect(bodyOf(DEFAULTS)).toEqual({});
  expect(egressWith({ mode: "public", allow: [], deny: [] }, { mode: null })).toBeNull();
  expect(proxyWith(proxy(LOGIN), { server: " " })).toBeNull();
});

test("what is said is sent as the API takes it", () => {
  const egress = egressWith(null, {
    mode: "public",
    allow: entriesOf("10.0.0.0/8, *.example.com:443,"),
    deny: entriesOf("ads.test\ntracker.test"),
  });
  const sent = {
    egress: {
      mode: "public",
      allow: ["10.0.0.0/8", "*.example.com:443"],
      deny: ["ads.test", "tracker.test"],
    },
    proxy: { server: SERVER, ...LOGIN, bypass: ".example.com" },
  };
  const out = proxy({ ...LOGIN, server: ` ${SERVER} `, bypass: ".example.com" });
  const session = bodyOf({ ...DEFAULTS, egress, proxy: out });
  expect(CreateSession.parse(session)).toMatchObject(sent);
  const job = jobBody({
    url: "http://a.test/",
    preset: null,
    given: { egress, proxy: out },
    labels: [],
  });
  expect(SubmitJob.parse(job).options).toMatchObject(sent);
  expect(bodyOf({ ...DEFAULTS, proxy: proxy() })).toEqual({ proxy: SERVER });
});

test.each([
  ["http://me:hu%40sh@proxy.test:3128", "http://proxy.test:3128", "me", "hu@sh"],
  ["me:hu@sh@proxy.test", "proxy.test", "me", "hu@sh"],
  ["socks5://proxy.test", "socks5://proxy.test", null, null],
  ["https://me@proxy.test", "https://proxy.test", "me", null],
])("the login of %s gets fields of its own", (server, place, username, password) => {
  expect(withLoginApart(proxy({ server }))).toMatchObject({ server: place, username, password });
});

test("no command beside a form shows a login", () => {
  const spelled = "http://me:hush@proxy.test:3128";
  for (const shown of [shownProxy(proxy(LOGIN)), shownProxy(proxy({ server: spelled }))])
    expect(JSON.stringify(shown)).not.toMatch(/\bme\b|hush/);
  const given = { proxy: proxy({ ...LOGIN, server: spelled }) };
  const command = curlOf({ url: "http://a.test/", preset: null, given, labels: [] }, "http://hub");
  expect(command).toContain("***@proxy.test:3128");
  expect(command).not.toContain("hush");
});

test("a record is shown as it is, its login as one that has to be given again", () => {
  const record = JobOptions.parse({
    egress: { deny: ["ads.test"] },
    proxy: { server: SERVER, username: "***", password: "***" },
  });
  const given = givenOf(record);
  expect(given).toEqual({
    egress: { mode: null, allow: [], deny: ["ads.test"] },
    proxy: proxy({ username: "***", password: "***" }),
  });
  const again = SubmitJob.safeParse(
    jobBody({ url: "http://a.test/", preset: null, given, labels: [] }),
  );
  expect(again.error?.issues[0]?.path).toEqual(["options", "proxy"]);
  expect(givenOf(JobOptions.parse({}))).toEqual({});
});

test("a preset's way out is shown in any form that it was stored in, and a job takes it away", () => {
  const preset = givenOf({ egress: { mode: "public" }, proxy: SERVER });
  expect(preset).toEqual({ egress: { mode: "public", allow: [], deny: [] }, proxy: proxy() });
  const same = withOption({}, preset, "egress", egressWith(null, { mode: "public" }));
  expect(same).toEqual({});
  expect(withOption({}, preset, "proxy", null)).toEqual({ proxy: null });
});

test("an address names the mode of the egress, and a proxy", () => {
  const named = optionsOfAddress(
    new URLSearchParams({ egress: "public", proxy: SERVER, idle_seconds: "1" }),
  );
  expect(named).toEqual({
    egress: { mode: "public", allow: [], deny: [] },
    proxy: proxy(),
    idle_seconds: 1,
  });
  expect(optionsOfAddress(new URLSearchParams({ egress: "nowhere" }))).toEqual({});
});

test("what an egress says is said in a line", () => {
  expect(egressText({ mode: "listed", allow: ["a.test", "b.test:443"], deny: ["c.test"] })).toBe(
    "listed; also to a.test, b.test:443; never to c.test",
  );
});

import { afterEach, expect, test } from "bun:test";
import { rootCertificates } from "node:tls";
import { placeholderOf } from "#shared/protocol/recipe-secrets.ts";
import { BROWSER_OPTION_NAMES } from "#shared/protocol/schema/browser-options.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { makeOwnKey } from "#worker/replay/certificate.ts";

/** Who says what pages see of the browser, and which workers may be told (rules/browser-options). */

let hub: TestHub;
const start = async (worker: FakeWorkerOptions = KNOWS) => {
  hub = await startTestHub();
  return hub.worker({ lanes: 4, ...worker });
};
afterEach(() => hub.close());

const KNOWS: FakeWorkerOptions = {
  capabilities: { browser_options: BROWSER_OPTION_NAMES } as FakeWorkerOptions["capabilities"],
};
const OLD: FakeWorkerOptions = {};
const [AUTHORITY = ""] = rootCertificates;
const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
const HOST = new URL(TARGET).hostname;
const submit = (options: object, more: object = {}) =>
  hub.call("POST", "/jobs", { url: TARGET, options, ...more });
const hostSays = (browser_options: object | null) =>
  hub.call("PUT", `/hosts/${HOST}`, { browser_options });
const settingSays = (browser_options: object | null) =>
  hub.call("PATCH", "/settings", { browser_options });

test("each option is the job's, else the preset's, else the host's, else the setting's (rules/browser-options#who-decides)", async () => {
  const worker = await start();
  await settingSays({ locale: "fr-FR", timezone: "UTC", color_scheme: "light" });
  await hostSays({ locale: "it-IT", timezone: "Europe/Rome" });
  await hub.call("PUT", "/presets/german", { options: { locale: "de-DE", user_agent: "preset" } });
  expect((await submit({ user_agent: "own" }, { preset: "german" })).status).toBe(200);
  const { extras, options } = await worker.assigned.next();
  expect(extras.browser_options).toEqual({
    user_agent: "own",
    locale: "de-DE",
    timezone: "Europe/Rome",
    color_scheme: "light",
  });
  // An earlier worker refuses options that it does not know, even null.
  expect(Object.keys(options)).not.toContainAnyValues([...BROWSER_OPTION_NAMES]);
});

test("a session's own options count before those of the host that it begins at", async () => {
  const worker = await start();
  await hostSays({ locale: "it-IT", timezone: "Europe/Rome" });
  const opened = await hub.call("POST", "/sessions", { url: TARGET, locale: "de-DE" });
  expect(opened.status).toBe(201);
  const { browser_options } = await worker.opening.next();
  expect(browser_options).toEqual({ locale: "de-DE", timezone: "Europe/Rome" });
  await hub.call("POST", "/sessions", {});
  expect((await worker.opening.next()).browser_options).toBeUndefined();
});

test("a device that a job names is not given the name or size of another by its host (rules/browser-options#devices)", async () => {
  const worker = await start();
  await hostSays({ user_agent: "host", viewport: { width: 800, height: 600 }, locale: "it-IT" });
  await submit({ device: "Pixel 7" });
  const first = await worker.assigned.next();
  expect(first.extras.browser_options).toEqual({ device: "Pixel 7", locale: "it-IT" });
  await submit({ device: "Pixel 7", user_agent: "own" });
  const second = await worker.assigned.next();
  expect(second.extras.browser_options).toMatchObject({ device: "Pixel 7", user_agent: "own" });
});

test("the viewport of a session goes to workers of every version, and with a device as one of its options", async () => {
  const worker = await start(OLD);
  const viewport = { width: 800, height: 600 };
  expect((await hub.call("POST", "/sessions", { viewport })).status).toBe(201);
  const old = await worker.opening.next();
  expect([old.viewport, old.browser_options]).toEqual([viewport, undefined]);
  const able = await hub.worker({ worker_id: "able", ...KNOWS });
  await hub.call("POST", "/sessions", { viewport, device: "Pixel 7" });
  expect((await able.opening.next()).browser_options).toEqual({ viewport, device: "Pixel 7" });
});

test("where nobody says anything the worker is told nothing", async () => {
  const worker = await start();
  await submit({});
  expect((await worker.assigned.next()).extras.browser_options).toBeNull();
});

test("what a job or session asks for itself needs a worker that can show it", async () => {
  await start(OLD);
  const job = await submit({ locale: "de-DE" });
  expect([job.status, job.text]).toEqual([422, expect.stringContaining("of a version")]);
  expect(job.body.detail[0].loc).toEqual(["body", "options", "locale"]);
  const session = await hub.call("POST", "/sessions", { timezone: "UTC" });
  expect(session.body.detail[0].loc).toEqual(["body", "timezone"]);
});

test("a browser is given authorities only on a worker that has what stores them, and the refusal names the package", async () => {
  const lacks = BROWSER_OPTION_NAMES.filter((name) => name !== "certificate_authorities");
  await start({ capabilities: { browser_options: lacks } as FakeWorkerOptions["capabilities"] });
  const asked = { certificate_authorities: AUTHORITY };
  const job = await submit(asked);
  expect([job.status, job.text]).toEqual([422, expect.stringContaining("libnss3-tools")]);
  const session = await hub.call("POST", "/sessions", asked);
  expect(session.body.detail[0].loc).toEqual(["body", "certificate_authorities"]);
  const able = await hub.worker({ worker_id: "able", ...KNOWS });
  expect((await submit(asked)).status).toBe(200);
  expect((await able.assigned.next()).extras.browser_options).toEqual(asked);
});

test("what a host says is left out on a worker that cannot show it, and the job's log says so", async () => {
  const worker = await start(OLD);
  await hostSays({ locale: "it-IT" });
  const { body } = await submit({});
  expect((await worker.assigned.next()).extras.browser_options).toBeNull();
  const log = await hub.call("GET", `/jobs/${body.job_id}/events.json`);
  expect(log.text).toContain("left out of the browser's options: locale (worker");
});

test("a worker gets the hosts that ads are at only with a run that blocks them (rules/browser-options#blocking)", async () => {
  const worker = await start();
  await submit({ block: { types: ["image"] } });
  const plain = await worker.assigned.next();
  expect(plain.extras.browser_options).toEqual({ block: { types: ["image"] } });
  expect(plain.extras.ad_hosts).toBeUndefined();
  await submit({ block: { ads: true } });
  expect((await worker.assigned.next()).extras.ad_hosts).toContain("doubleclick.net");
  await hostSays({ block: { ads: true, hosts: ["ads.test"] } });
  await hub.call("POST", "/sessions", { url: TARGET });
  const opening = await worker.opening.next();
  expect(opening.browser_options).toEqual({ block: { ads: true, hosts: ["ads.test"] } });
  expect(opening.ad_hosts).toContain("doubleclick.net");
});

test("a login for HTTP goes to the worker with the hosts that may have it, and nowhere else (rules/browser-options#http-logins)", async () => {
  hub = await startTestHub({
    env: {
      SVC_RECIPE_ENV: `SHOP@shop.test, SHOP@*.shop.test, LOOSE, EMPTY@shop.test`,
      SHOP: "hunter2-shop",
      LOOSE: "hunter2-loose",
    },
  });
  const worker = await hub.worker({ lanes: 8, ...KNOWS });
  const named = (name: string) => ({ username: "ali", password: placeholderOf(name) });
  const job = await submit({ http_credentials: { ...named("SHOP"), origin: "https://shop.test" } });
  expect((await worker.assigned.next()).extras.http_login).toEqual({
    username: "ali",
    password: "hunter2-shop",
    hosts: ["shop.test", "*.shop.test"],
    origin: "https://shop.test",
  });
  const record = await hub.call("GET", `/jobs/${job.body.job_id}`);
  expect(record.body.options.http_credentials.password).toBe(placeholderOf("SHOP"));
  expect(record.text).not.toContain("hunter2");

  for (const [name, said] of [
    ["LOOSE", "is bound to no host"],
    ["EMPTY", "must be listed in the hub's SVC_RECIPE_ENV and set"],
    ["HOME", "must be listed in the hub's SVC_RECIPE_ENV and set"],
  ] as const) {
    const refused = await submit({ http_credentials: named(name) });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(said)]);
    const session = await hub.call("POST", "/sessions", { http_credentials: named(name) });
    expect(session.body.detail[0].loc).toEqual(["body", "http_credentials", "password"]);
  }
  const plain = await submit({ http_credentials: { username: "ali", password: "hunter2" } });
  expect([plain.status, plain.text]).toEqual([422, expect.stringContaining("placeholder")]);

  await hostSays({ http_credentials: named("LOOSE") });
  await submit({});
  expect((await worker.assigned.next()).extras.http_login?.hosts).toEqual([HOST]);
  await hub.call("POST", "/sessions", { url: TARGET });
  expect((await worker.opening.next()).http_login?.password).toBe("hunter2-loose");

  await hostSays({ http_credentials: named("EMPTY") });
  const without = await submit({});
  expect((await worker.assigned.next()).extras.http_login).toBeUndefined();
  const log = await hub.call("GET", `/jobs/${without.body.job_id}/events.json`);
  expect(log.text).toContain("the login for HTTP is left out: EMPTY must be listed");
});

test("a host's options stay while their key is missing, and null removes them", async () => {
  await start();
  await hostSays({ locale: "it-IT" });
  const kept = await hub.call("PUT", `/hosts/${HOST}`, { notes: "n" });
  expect(kept.body.browser_options).toEqual({ locale: "it-IT" });
  expect((await hostSays(null)).body.browser_options).toBeNull();
});

test.each([
  [{ locale: "de_DE" }, "language tag"],
  [{ timezone: "Mars/Olympus" }, "time zone"],
  [{ timezone: "europe/berlin" }, "time zone"],
  [{ timezone: "+05:30" }, "time zone"],
  [{ user_agent: "a\r\nX: y" }, "printable"],
  [{ user_agent: "" }, "options"],
  [{ color_scheme: "pink" }, "options"],
  [{ extra_headers: { Authorization: "Bearer x" } }, "secret"],
  [{ extra_headers: { "X Team": "x" } }, "names that headers may have"],
  [{ extra_headers: { "X-Team": "a\r\nb" } }, "printable"],
  [{ extra_headers: { "X-Team": "a", "x-team": "b" } }, "twice"],
  [{ extra_headers: { "Accept-Encoding": "br" } }, "by itself"],
  [{ extra_headers: { Host: "a.test" } }, "by itself"],
  [{ extra_headers: { "X-Long": "x".repeat(8_192) } }, "characters in all"],
  [
    { extra_headers: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`x-${n}`, ""])) },
    "at most 50",
  ],
  [{ init_scripts: Array.from({ length: 21 }, () => "1") }, "init_scripts"],
  [{ viewport: { width: 99, height: 600 } }, "viewport"],
  [{ init_scripts: ["x".repeat(102_401)] }, "in all"],
  [{ device: "constructor" }, "Playwright knows"],
  [{ permissions: ["everything"] }, "permissions"],
  [{ certificate_authorities: "ca.pem" }, "certificates in PEM"],
  [{ certificate_authorities: pem("AAAA") }, "certificates of authorities only"],
  [{ certificate_authorities: makeOwnKey(Date.now()).cert }, "certificates of authorities only"],
  [{ certificate_authorities: AUTHORITY.repeat(21) }, "1 to 20"],
  [{ geolocation: { latitude: 91, longitude: 0 } }, "latitude"],
  [{ locale: "de-DE", attach: "9222" }, "cannot be used with attach"],
  [{ timezone: "UTC", attach_to_job: "j1" }, "cannot be used with attach_to_job"],
])("%j is refused", async (options, words) => {
  await start();
  const { status, text } = await submit(options);
  expect([status, text]).toEqual([422, expect.stringContaining(words)]);
});

test("the options of a session may be in the query of a connection", async () => {
  const worker = await start();
  const socket = new WebSocket(
    `${hub.url.replace(/^http/, "ws")}/cdp?locale=de-DE&timezone=Europe%2FBerlin&color_scheme=dark`,
  );
  expect((await worker.opening.next()).browser_options).toEqual({
    locale: "de-DE",
    timezone: "Europe/Berlin",
    color_scheme: "dark",
  });
  socket.close();
});

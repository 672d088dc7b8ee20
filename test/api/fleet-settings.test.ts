import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { minAssetSize } from "#hub/fleet/jobs/settings.ts";
import { fleetSetting } from "#hub/fleet/registries/fleet-settings.ts";
import { FLEET_SETTING_KEYS } from "#hub/fleet/registries/known-settings.ts";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

const PASSWORD = "correct horse battery";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({
    // What a hub has read of the settings is its own.
    alone: true,
    env: {
      SVC_MIN_ASSET_SIZE_BYTES: "100",
      SVC_CORS_ORIGINS: "https://fixed.test",
      SVC_ADMIN_PASSWORD: PASSWORD,
    },
  });
  // Where there is a password, a change asks for it (test/attack/routes.test.ts).
  const { call } = hub;
  hub.call = (method, path, body, init = {}) =>
    call(method, path, body, {
      ...init,
      headers: { "x-admin-password": PASSWORD, ...Object.fromEntries(new Headers(init.headers)) },
    });
});
afterAll(() => hub.close());
const reset = () =>
  hub.call("PATCH", "/settings", Object.fromEntries(FLEET_SETTING_KEYS.map((key) => [key, null])));
afterEach(reset);

const at = () => hub;
const DEFAULTS = {
  min_asset_size_bytes: 100,
  default_engine: null,
  judge_engine: null,
  retention_days: 0,
  retention_max_bytes: 0,
  retention_max_count: 0,
  record: "screen",
  browser_options: {},
  recording_days: 30,
  recording_max_bytes: 50_000_000_000,
  recording_max_count: 0,
  max_concurrent_runs: 3,
  lane_reserve_s: 20,
  preview_interval_s: 2,
  cors_origins: [],
  webhook_url: null,
};
const ENGINE = { endpoint: "http://llm.test", model: "m" };

scenarios("GET /settings (rules/settings#read-settings)", at, [
  {
    name: "gives every key with the value that counts",
    status: 200,
    body: { settings: DEFAULTS },
    after: async (_, { body }) => {
      expect(Object.keys(body.settings)).toEqual([...FLEET_SETTING_KEYS]);
      expect(Object.keys(DEFAULTS)).toEqual([...FLEET_SETTING_KEYS]);
    },
  },
  {
    name: "gives a JSON schema with a description and a default for each",
    status: 200,
    body: {
      schema: {
        type: "object",
        additionalProperties: false,
        properties: {
          max_concurrent_runs: { type: "integer", minimum: 1, maximum: 50, default: 3 },
          min_asset_size_bytes: { default: 100 },
        },
      },
    },
    after: async (_, { body }) => {
      for (const key of FLEET_SETTING_KEYS)
        expect(body.schema.properties[key].description).toBeString();
    },
  },
]);

scenarios("PATCH /settings (rules/settings#change-settings)", at, [
  {
    name: "changes the given keys and leaves the others",
    send: { retention_days: 30.5, max_concurrent_runs: 50 },
    status: 200,
    body: { settings: { ...DEFAULTS, retention_days: 30.5, max_concurrent_runs: 50 } },
    after: async (h, { body }) => expect((await h.call("GET", "/settings")).body).toEqual(body),
  },
  {
    name: "null goes back to the default",
    before: (h) => h.call("PATCH", "/settings", { min_asset_size_bytes: 7 }),
    send: { min_asset_size_bytes: null },
    status: 200,
    body: { settings: { min_asset_size_bytes: 100 } },
  },
  { name: "nothing changes nothing", send: {}, status: 200, body: { settings: DEFAULTS } },
  {
    name: "an unknown key is 422 naming it, and nothing is changed",
    send: { retention_days: 1, retention_weeks: 1 },
    status: 422,
    body: issueAt("body", "retention_weeks"),
    after: async (h) =>
      expect((await h.call("GET", "/settings")).body.settings.retention_days).toBe(0),
  },
  {
    name: "a key of the control plane is none of the fleet's",
    send: { "control.service_log_days": 1 },
    status: 422,
    body: issueAt("body", "control.service_log_days"),
  },
  {
    name: "no lane is left to fetch jobs for longer than redrive allows",
    send: { lane_reserve_s: 91 },
    status: 422,
    body: issueAt("body", "lane_reserve_s"),
  },
  { name: "no more than 50 runs", send: { max_concurrent_runs: 51 }, status: 422 },
  {
    name: "not none",
    send: { max_concurrent_runs: 0 },
    status: 422,
    body: issueAt("body", "max_concurrent_runs"),
  },
  {
    name: "an origin has no path",
    send: { cors_origins: ["https://a.test", "https://b.test/x"] },
    status: 422,
    body: issueAt("body", "cors_origins", 1),
  },
  {
    name: "a webhook is no metadata service",
    send: { webhook_url: "http://169.254.169.254/latest" },
    status: 422,
    body: issueAt("body", "webhook_url"),
  },
  {
    name: "nor does it show a password to everybody",
    send: { webhook_url: "https://me:pass@hook.test/" },
    status: 422,
    body: issueAt("body", "webhook_url"),
  },
  {
    name: "an engine must be there",
    send: { judge_engine: "none" },
    status: 422,
    body: issueAt("body", "judge_engine"),
  },
  {
    name: "a list is no object",
    send: [],
    status: 422,
  },
]);

describe("each setting has its effect (rules/settings#keys)", () => {
  const patch = (settings: object) => hub.call("PATCH", "/settings", settings);

  test("default_engine must write code, judge_engine may be of any kind", async () => {
    await hub.call("PUT", "/engines/chat", ENGINE);
    await hub.call("PUT", "/engines/thinker", { ...ENGINE, kind: "reasoning" });
    expect((await patch({ default_engine: "chat", judge_engine: "thinker" })).status).toBe(200);
    expect((await patch({ default_engine: "thinker" })).body).toMatchObject(
      issueAt("body", "default_engine"),
    );
    const resolved = (purpose: string) =>
      hub.call("GET", `/engines/default/resolve?purpose=${purpose}`);
    expect((await resolved("codegen")).body.slug).toBe("chat");
    expect((await resolved("judge")).body.slug).toBe("thinker");
  });

  test("min_asset_size_bytes and max_concurrent_runs count at once, in this hub and any other within a second", async () => {
    await patch({ min_asset_size_bytes: 9, max_concurrent_runs: 4 });
    expect(await minAssetSize(hub.ctx)).toBe(9);
    expect(await fleetSetting(hub.ctx, "max_concurrent_runs")).toBe(4);
    // Another hub's write: what was read lives for a second.
    await hub.ctx.db.settings.set("max_concurrent_runs", 5, 0);
    let now = hub.ctx.clock.now() + 999;
    const later = { ...hub.ctx, clock: { ...hub.ctx.clock, monotonic: () => now } };
    hub.ctx.settings_cache.set("max_concurrent_runs", { value: 4, read_at: now - 999 });
    expect(await fleetSetting(later, "max_concurrent_runs")).toBe(4);
    now += 1;
    expect(await fleetSetting(later, "max_concurrent_runs")).toBe(5);
  });

  test("a stored value that no rule allows any more counts as none", async () => {
    await hub.ctx.db.settings.set("max_concurrent_runs", "many", 0);
    hub.ctx.settings_cache.clear();
    expect(await fleetSetting(hub.ctx, "max_concurrent_runs")).toBe(3);
    expect((await hub.call("GET", "/settings")).body.settings.max_concurrent_runs).toBe(3);
  });

  test("cors_origins are allowed in addition to SVC_CORS_ORIGINS, without a restart", async () => {
    const origin = "https://ops.test";
    const allowed = async (of: string) => {
      const answer = await hub.call("GET", "/health", undefined, { headers: { origin: of } });
      return answer.headers.get("access-control-allow-origin");
    };
    expect(await allowed(origin)).toBeNull();
    await patch({ cors_origins: [origin] });
    expect(await allowed(origin)).toBe(origin);
    expect(await allowed("https://fixed.test")).toBe("https://fixed.test");
    expect(await allowed("https://other.test")).toBeNull();
    const events = await hub.call("GET", "/jobs/none/events", undefined, {
      headers: { origin, upgrade: "websocket", connection: "upgrade" },
    });
    expect(events.status).not.toBe(403);
    await patch({ cors_origins: null });
    expect(await allowed(origin)).toBeNull();
  });

  test("the control plane's settings and the fleet's do not touch one another", async () => {
    const headers = { "x-admin-password": PASSWORD };
    await patch({ retention_days: 3 });
    const write = await hub.call(
      "PUT",
      "/api/v1/settings/service_log_days",
      { value: 5 },
      { headers },
    );
    expect({ status: write.status, text: write.text }).toMatchObject({ status: 200 });
    await reset();
    const control = (await hub.call("GET", "/api/v1/settings")).body.settings;
    expect(control.find((s: { key: string }) => s.key === "service_log_days").value).toBe(5);
    expect(control.some((s: { key: string }) => s.key === "retention_days")).toBe(false);
  });
});

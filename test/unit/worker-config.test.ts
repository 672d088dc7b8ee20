import { describe, expect, test } from "bun:test";
import { ConfigError, type EnvSource } from "#shared/kit/env.ts";
import { loadWorkerConfig, WorkerEnv } from "#worker/config.ts";

describe("worker configuration (rules/workers#variables-of-a-worker)", () => {
  test("defaults are two lanes, two jobs, display :100, ports 9223 and 5901 and 6080 (rules/operations#defaults-of-the-fleet)", () => {
    const config = loadWorkerConfig({}, {});
    expect(config.lanes).toMatchObject({
      count: 2,
      display_base: 100,
      cdp_port_base: 9223,
      vnc_port_base: 5901,
    });
    expect(config.max_concurrent).toBe(2);
    expect(config.novnc).toEqual({ public_host: "localhost", base_port: 6080 });
    expect(config.watchdog).toEqual({ stall_ms: 300_000, link_ms: 600_000 });
    expect(config.hub_url).toBeNull();
  });

  test("blank means unset, and a flag wins over the environment", () => {
    const config = loadWorkerConfig(
      { LANE_POOL: " ", SVC_LOG_LEVEL: "warn" },
      { SVC_LOG_LEVEL: "debug" },
    );
    expect(config.lanes.count).toBe(2);
    expect(config.log_level).toBe("debug");
  });

  test("an absent flag leaves the environment's value", () => {
    expect(loadWorkerConfig({ LANE_POOL: "5" }, { LANE_POOL: undefined }).lanes.count).toBe(5);
  });

  test("MAX_CONCURRENT follows LANE_POOL, so that no lane stands idle, unless it is given itself", () => {
    const jobsAtOnce = (env: EnvSource) => loadWorkerConfig(env, {}).max_concurrent;
    expect(jobsAtOnce({ LANE_POOL: "3" })).toBe(3);
    expect(jobsAtOnce({ LANE_POOL: "1" })).toBe(1);
    expect(jobsAtOnce({ LANE_POOL: "3", MAX_CONCURRENT: "2" })).toBe(2);
    expect(jobsAtOnce({ LANE_POOL: "3", MAX_CONCURRENT: "0" })).toBe(0);
    expect(loadWorkerConfig({}, { LANE_POOL: "4" }).max_concurrent).toBe(4);
  });

  const bad: [string, EnvSource][] = [
    ["MAX_CONCURRENT", { MAX_CONCURRENT: "1.5" }],
    ["MAX_CONCURRENT", { MAX_CONCURRENT: "-1" }],
    ["LANE_POOL", { LANE_POOL: "two" }],
    ["LANE_POOL", { LANE_POOL: "0" }],
    ["HUB_URL", { HUB_URL: "ftp://hub" }],
    ["HUB_URL", { HUB_URL: "hub:8000" }],
    ["SVC_WORKER_ID", { SVC_WORKER_ID: "../w1" }],
    ["SVC_LOG_LEVEL", { SVC_LOG_LEVEL: "loud" }],
    ["SVC_NAVIGATION_BLOCK", { SVC_NAVIGATION_BLOCK: "loopback,moon" }],
    ["SVC_HEADLESS_LANES", { SVC_HEADLESS_LANES: "maybe" }],
    ["SVC_CDP_PORT_BASE", { SVC_CDP_PORT_BASE: "65530", LANE_POOL: "10" }],
    ["SVC_VNC_PORT_BASE", { SVC_VNC_PORT_BASE: "9224" }],
    ["NOVNC_BASE_PORT", { NOVNC_BASE_PORT: "5900" }],
    ["SVC_LANE_HARD_BYTES", { SVC_LANE_HARD_BYTES: "1000" }],
    ["SVC_CONTROL_URL", { SVC_CONTROL_URL: "ws://control:8000" }],
    ["SVC_SLOTS", { SVC_SLOTS: "0" }],
    ["SVC_TASK_ENV", { SVC_TASK_ENV: "GOOD,not-a-name" }],
  ];
  test.each(bad)("a bad value is refused naming %s", (name, env) => {
    expect(() => loadWorkerConfig(env, {})).toThrow(ConfigError);
    expect(() => loadWorkerConfig(env, {})).toThrow(new RegExp(`^${name}`));
  });

  test("every bad variable is named at once", () => {
    expect(() => loadWorkerConfig({ LANE_POOL: "x", MAX_CONCURRENT: "y" }, {})).toThrow(
      /LANE_POOL.*\nMAX_CONCURRENT/,
    );
  });

  test("browsers inherit paths, locale and proxies, and no secret", () => {
    const { environment } = loadWorkerConfig(
      {
        PATH: "/bin",
        TZ: "UTC",
        LC_ALL: "C",
        https_proxy: "http://p",
        WORKER_SECRET: "s",
        AWS_TOKEN: "t",
        HOME: "/h",
      },
      {},
    ).browser;
    expect(environment).toEqual({ PATH: "/bin", TZ: "UTC", LC_ALL: "C", https_proxy: "http://p" });
  });

  test("tasks inherit where an interpreter looks, and what SVC_TASK_ENV names, but no secret of the worker", () => {
    const { environment } = loadWorkerConfig(
      {
        PATH: "/bin",
        HOME: "/h",
        PYTHONPATH: "/p",
        CUDA_VISIBLE_DEVICES: "0",
        WORKER_SECRET: "s",
        SVC_API_TOKEN: "t",
        AWS_SECRET: "a",
        BUCKET: "b",
        HUB_URL: "ws://h",
        SVC_TASK_ENV: "BUCKET, ABSENT",
      },
      {},
    ).pipeline;
    expect(environment).toEqual({
      PATH: "/bin",
      HOME: "/h",
      PYTHONPATH: "/p",
      CUDA_VISIBLE_DEVICES: "0",
      BUCKET: "b",
    });
  });

  test("the configuration is frozen to its leaves", () => {
    const config = loadWorkerConfig({}, {});
    expect(() => Object.assign(config.lanes, { count: 3 })).toThrow(TypeError);
    expect(Object.isFrozen(config.fetch.navigation_block)).toBe(true);
  });

  test("every variable has a description for the guide's table", () => {
    for (const [name, schema] of Object.entries(WorkerEnv.shape))
      expect([name, !!schema.description]).toEqual([name, true]);
  });
});

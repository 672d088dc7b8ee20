import { describe, expect, test } from "bun:test";
import { JobOptions, SubmitJob, TargetUrl } from "#shared/protocol/schema/job.ts";

const fieldsOf = (input: unknown): string[] => {
  const result = JobOptions.safeParse(input);
  return result.success ? [] : result.error.issues.map((i) => i.path.join(".") || i.code);
};

describe("JobOptions defaults (rules/job-options#the-options)", () => {
  test("an empty object has every default of the table", () => {
    expect(JobOptions.parse({})).toEqual({
      mode: "fetch",
      goal: null,
      max_codegen_attempts: 3,
      attempt_timeout_s: 180,
      rerun_from: null,
      code: null,
      wait_seconds: 20,
      settle_seconds: 0,
      idle_seconds: 3,
      max_wait_seconds: 60,
      post_click_seconds: 5,
      scroll: false,
      scroll_step: 50,
      scroll_max: 3000,
      scroll_early_after: 5,
      download_video: false,
      capture_assets: true,
      min_asset_size_bytes: 0,
      final_state: true,
      headless: false,
      dialog_policy: "dismiss",
      referer: null,
      cookies_from: null,
      use_profile: null,
      attach: null,
      clone_chrome_profile: null,
      attach_to_job: null,
      codegen_engine: null,
      fetch_strategy: "recipe",
      fetch_recipe: null,
      record: null,
      trace: false,
      egress: null,
      proxy: null,
      replay: null,
      replay_clock: "now",
      prove_in_replay: false,
      proof_capture: null,
      user_agent: null,
      locale: null,
      timezone: null,
      color_scheme: null,
      viewport: null,
      device: null,
      geolocation: null,
      permissions: null,
      extra_headers: null,
      init_scripts: null,
      javascript: null,
      ignore_https_errors: null,
      certificate_authorities: null,
      max_download_bytes: null,
      http_credentials: null,
      block: null,
      keep_session: false,
    });
  });

  test("options may be left out of the body", () => {
    expect(SubmitJob.parse({ url: "http://example.test/" }).options.mode).toBe("fetch");
  });

  test("parsing its own output changes nothing, so that a stored job can be sent again", () => {
    const once = JobOptions.parse({ mode: "rerun", code: "log(1)", scroll: true });
    expect(JobOptions.parse(once)).toEqual(once);
  });
});

describe("JobOptions rules (rules/job-options#what-a-mode-requires)", () => {
  const sources = {
    use_profile: "work",
    attach: "9222",
    clone_chrome_profile: "Default",
    attach_to_job: "abc123",
  };
  const names = Object.keys(sources) as (keyof typeof sources)[];
  for (const first of names)
    for (const second of names.slice(names.indexOf(first) + 1))
      test(`rule 1: ${first} and ${second} together are refused`, () => {
        expect(fieldsOf({ [first]: sources[first], [second]: sources[second] })).toEqual([second]);
        expect(fieldsOf({ [first]: sources[first] })).toEqual([]);
      });

  test("rule 2: rerun_from wins when code is there too", () => {
    const options = JobOptions.parse({
      mode: "rerun",
      rerun_from: "abc/attempts/2",
      code: "log(1)",
    });
    expect([options.rerun_from, options.code]).toEqual(["abc/attempts/2", null]);
  });

  test("rule 3: codegen-loop needs a goal that says something", () => {
    expect(fieldsOf({ mode: "codegen-loop" })).toEqual(["goal"]);
    expect(fieldsOf({ mode: "codegen-loop", goal: "  " })).toEqual(["goal"]);
    expect(fieldsOf({ mode: "codegen-loop", goal: "find the price" })).toEqual([]);
  });

  test("rule 3: rerun needs rerun_from or code", () => {
    expect(fieldsOf({ mode: "rerun" })).toEqual(["rerun_from"]);
    expect(fieldsOf({ mode: "rerun", rerun_from: "abc" })).toEqual([]);
    expect(fieldsOf({ mode: "rerun", code: "log(1)" })).toEqual([]);
  });

  for (const [field, bad, good] of [
    ["max_codegen_attempts", [0, 11, 1.5, "3"], [1, 10]],
    ["attempt_timeout_s", [29, 864_001], [30, 864_000]],
    ["min_asset_size_bytes", [-1, 0.5], [0, 1]],
    ["wait_seconds", [-1, 1.5, 3_601], [0, 3_600]],
    ["settle_seconds", [-0.1, Number.NaN], [0.5]],
    ["scroll_step", [0, -5], [1]],
    ["mode", ["Fetch", ""], ["fetch"]],
    ["rerun_from", ["a b", "a/attempts/0", "../x"], []],
    ["use_profile", ["Work", "a/b", ""], ["my_profile-1"]],
    [
      "attach",
      ["host", "http://h:1", "0", "99999", "host:0", "10.0.0.5:65536", "[::1]:0", "[::::]:9222"],
      ["9222", "10.0.0.5:9222", "[::1]:9222", "65535", "a-host.lan:1"],
    ],
    ["fetch_recipe", [5, "x", []], [null]],
    ["final_state", ["no", 0], [false]],
    ["headless", ["yes", 1], [true]],
  ] as [string, unknown[], unknown[]][]) {
    for (const value of bad)
      test(`rule 4: ${field} refuses ${JSON.stringify(value)}`, () => {
        expect(fieldsOf({ mode: "fetch", [field]: value })).toContain(field);
      });
    for (const value of good)
      test(`${field} takes ${JSON.stringify(value)}`, () => {
        expect(fieldsOf({ [field]: value })).toEqual([]);
      });
  }

  test("a clock of the capture needs a capture (rules/replay#the-clock)", () => {
    expect(fieldsOf({ replay_clock: "capture" })).toEqual(["replay_clock"]);
    expect(fieldsOf({ replay_clock: "then", replay: "abc123" })).toEqual(["replay_clock"]);
    expect(fieldsOf({ replay_clock: "capture", replay: "abc123" })).toEqual([]);
    expect(fieldsOf({ replay_clock: "now" })).toEqual([]);
  });

  test("a proof in replay needs a judge, a site, and a capture (rules/scripts#proof-in-replay)", () => {
    const proved = { mode: "codegen-loop", goal: "read", prove_in_replay: true };
    const named = { ...proved, proof_capture: "abc123" };
    for (const [more, fields] of [
      [proved, []],
      [named, []],
      [{ ...named, use_profile: "work", proxy: "http://proxy:8080" }, []],
      [{ ...named, capture_assets: false, max_codegen_attempts: 1 }, []],
      [{ proof_capture: "abc123" }, ["proof_capture"]],
      [{ ...proved, mode: "fetch" }, ["prove_in_replay"]],
      [{ ...proved, mode: "rerun", code: "log(1)" }, ["prove_in_replay"]],
      [{ ...proved, replay: "abc123" }, ["prove_in_replay"]],
      [{ ...named, attach_to_job: "abc123" }, ["attach_to_job"]],
      [{ ...named, clone_chrome_profile: "Default" }, ["clone_chrome_profile"]],
      [{ ...proved, capture_assets: false }, ["capture_assets"]],
      [{ ...proved, max_codegen_attempts: 1 }, ["max_codegen_attempts"]],
    ] as const)
      expect({ more, fields: fieldsOf(more) }).toEqual({ more, fields: [...fields] });
  });

  test("rule 4: code is counted in bytes, 200 KB at most", () => {
    const kilobytes = (n: number, char: string) => char.repeat((n * 1024) / new Blob([char]).size);
    expect(fieldsOf({ mode: "rerun", code: kilobytes(200, "x") })).toEqual([]);
    expect(fieldsOf({ mode: "rerun", code: `${kilobytes(200, "x")}x` })).toEqual(["code"]);
    expect(fieldsOf({ mode: "rerun", code: kilobytes(202, "é") })).toEqual(["code"]);
  });

  test("an unknown key is refused", () => {
    expect(fieldsOf({ idle: 3 })).toEqual(["unrecognized_keys"]);
  });

  test("download_video forces capture_assets to true", () => {
    const options = JobOptions.parse({ download_video: true, capture_assets: false });
    expect(options.capture_assets).toBe(true);
  });
});

describe("the target URL", () => {
  for (const url of [
    "http://a.test",
    "https://a.test:8443/x?y=1#z",
    "HTTP://A.test/",
    "http://[::1]:80/",
  ])
    test(`${url} is taken as it is`, () => expect(TargetUrl.parse(url)).toBe(url));
  for (const url of [
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/html,x",
    "chrome://settings",
    "view-source:http://a.test",
    "ftp://a.test",
    "//a.test",
    "a.test",
    "",
    "http://",
    "http:// a.test",
    "http://a.test/\u0000",
    " javascript:alert(1)",
    `http://a.test/${"x".repeat(100_000)}`,
  ])
    test(`${JSON.stringify(url.slice(0, 40))} is refused`, () =>
      expect(TargetUrl.safeParse(url).success).toBe(false));
});

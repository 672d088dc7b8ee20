import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import { HubEnv } from "#hub/platform/hub-env.ts";
import { nearestWord } from "#hub/program/cli/nearest-word.ts";
import { describeVariables } from "#hub/program/variables/describe.ts";
import { KNOWN, SECRETS } from "#hub/program/variables/known.ts";
import { gatherConfig, loadConfig } from "#hub/program/variables/load.ts";
import { unknownNames } from "#hub/program/variables/unknown.ts";
import { ConfigError, type EnvSource, parseEnv } from "#shared/kit/env.ts";
import { inEmptyDir } from "#test/support/rigs/program.ts";
import { WorkerEnv } from "#worker/config.ts";

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (err) {
    if (err instanceof ConfigError) return err.message;
    throw err;
  }
  throw new Error("it was accepted");
};

/** `files` by name below a directory that is gone afterwards. */
const withFiles = (files: Record<string, string>, use: (dir: string) => void) =>
  inEmptyDir(async (dir) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    use(dir);
  });

describe("where a value comes from", () => {
  test("flag, then environment, then credential, then configuration file, then default", () =>
    withFiles({ SVC_API_TOKEN: "of-systemd\n" }, (dir) => {
      const path = join(dir, "flotilla.toml");
      writeFileSync(path, 'SVC_API_TOKEN = "of-file"\nSVC_PORT = 1\nSVC_HOST = "::1"\n');
      const origin = (env: EnvSource, flags: EnvSource = {}) => {
        const { env: values, origins } = gatherConfig({
          env: { SVC_CONFIG: path, ...env },
          flags,
        });
        return { value: values.SVC_API_TOKEN, ...origins.get("SVC_API_TOKEN") };
      };
      expect(origin({})).toEqual({ value: "of-file", from: "config_file", file: path });
      const credential = { CREDENTIALS_DIRECTORY: dir };
      const file = join(dir, "SVC_API_TOKEN");
      expect(origin(credential)).toEqual({ value: "of-systemd", from: "credential", file });
      expect(origin({ ...credential, SVC_API_TOKEN_FILE: file })).toEqual({
        value: "of-systemd",
        from: "environment",
        file,
      });
      expect(origin({ ...credential, SVC_API_TOKEN: "of-env" })).toEqual({
        value: "of-env",
        from: "environment",
        file: null,
      });
      expect(origin({ SVC_API_TOKEN: "of-env" }, { SVC_API_TOKEN: "of-flag" })).toEqual({
        value: "of-flag",
        from: "flag",
        file: null,
      });
      const { config } = loadConfig("hub", { env: { SVC_CONFIG: path, SVC_PORT: "2" } });
      expect(config).toMatchObject({ port: 2, host: "::1", api_token: "of-file" });
    }));

  test("what is blank is unset and gives way to the next place", () =>
    withFiles({ "flotilla.toml": "SVC_PORT = 1\n" }, (dir) => {
      const SVC_CONFIG = join(dir, "flotilla.toml");
      const env = { SVC_CONFIG, SVC_PORT: " ", SVC_API_TOKEN_FILE: "" };
      expect(loadConfig("hub", { env }).config).toMatchObject({ port: 1, api_token: null });
    }));

  test("a default of the caller counts after everything that was given", () => {
    const defaults = { SVC_PORT: "0" };
    expect(loadConfig("dev", { env: {}, defaults }).config.port).toBe(0);
    expect(loadConfig("dev", { env: { SVC_PORT: "9" }, defaults }).config.port).toBe(9);
  });
});

describe("a secret from a file", () => {
  for (const name of SECRETS)
    test(`${name}_FILE gives ${name}, without the line break at its end`, () =>
      withFiles({ secret: "s3cret, with spaces \n" }, (dir) => {
        const { env, origins } = gatherConfig({
          env: { [`${name}_FILE`]: join(dir, "secret") },
        });
        expect(env[name]).toBe("s3cret, with spaces ");
        expect(env[`${name}_FILE`]).toBeUndefined();
        expect(origins.get(name)?.file).toBe(join(dir, "secret"));
      }));

  test("every variable that sounds like a secret is one", () => {
    // The one names a path, whose file holds the secret; the other is a public key.
    const open = ["SVC_TLS_KEY", "SVC_UPDATE_KEY"];
    const sounds = [...KNOWN]
      .filter((name) => /(TOKEN|SECRET|PASSWORD|_KEY|KEY_ID)$/.test(name))
      .filter((name) => !open.includes(name));
    expect(sounds.filter((name) => !SECRETS.includes(name))).toEqual([]);
    expect(SECRETS).toEqual(
      expect.arrayContaining(["SVC_DB_URL", "SVC_REDIS_URL", "CODEGEN_LLM_API_KEY"]),
    );
  });

  test("the configuration file may name the file as well", () =>
    withFiles({ token: "t" }, (dir) => {
      const config = join(dir, "flotilla.toml");
      writeFileSync(config, `SVC_API_TOKEN_FILE = ${JSON.stringify(join(dir, "token"))}\n`);
      const flags = { SVC_CONFIG: config };
      expect(loadConfig("control", { env: {}, flags }).config.api_token).toBe("t");
    }));

  test("secrets of recipes and keys of engines may come from files too, where the operator names them", () =>
    withFiles({ secret: "pw\n" }, (dir) => {
      const file = join(dir, "secret");
      const lists = { SVC_RECIPE_ENV: "SITE_LOGIN", SVC_ENGINE_KEY_ENV: "OPENAI_KEY" };
      const files = { SITE_LOGIN_FILE: file, OPENAI_KEY_FILE: file, OTHER_KEY_FILE: file };
      const { config } = loadConfig("hub", { env: { ...lists, ...files } });
      expect(config.recipe_env).toEqual({ SITE_LOGIN: "pw" });
      expect(config.engineKey("OPENAI_KEY")).toBe("pw");
      // Whoever may put an engine must not read files of the hub by it.
      expect(config.engineKey("OTHER_KEY")).toBeNull();
    }));

  const refused: [string, (dir: string) => string, string][] = [
    ["does not exist", (dir) => join(dir, "none"), "does not exist"],
    ["is a directory", (dir) => dir, "is not a file"],
    ["is empty", (dir) => join(dir, "empty"), "is empty"],
    ["holds two lines", (dir) => join(dir, "two"), "must contain one line"],
    ["is large", (dir) => join(dir, "large"), "is larger than 64 KiB"],
  ];
  for (const [what, pathIn, says] of refused)
    test(`a file that ${what} is refused by the variable, the path and the cause`, () =>
      withFiles({ empty: "\n", two: "a\nb\n", large: "x".repeat(70_000) }, (dir) => {
        const path = pathIn(dir);
        const said = refusal(() => loadConfig("hub", { env: { SVC_API_TOKEN_FILE: path } }));
        expect(said).toBe(`SVC_API_TOKEN_FILE: ${path} ${says}`);
      }));

  test("nobody has to guess which counts: the value and its file together are refused", () =>
    withFiles({ token: "t" }, (dir) => {
      const env = { SVC_API_TOKEN: "a", SVC_API_TOKEN_FILE: join(dir, "token") };
      expect(refusal(() => loadConfig("worker", { env }))).toStartWith(
        "SVC_API_TOKEN: is set, and",
      );
    }));

  test("an empty credential is refused: the service would run without its secret", () =>
    withFiles({ WORKER_SECRET: "\n" }, (dir) => {
      const env = { CREDENTIALS_DIRECTORY: dir };
      expect(refusal(() => loadConfig("worker", { env }))).toContain("WORKER_SECRET is empty");
    }));
});

describe("the configuration file", () => {
  test("holds text, numbers, true and false, and lists, under the names of the variables", () =>
    withFiles(
      {
        "flotilla.toml": [
          "SVC_SUBMIT_WAIT_S = 1.5",
          "SVC_QUEUE_PULL_ON_FREE = false",
          'SVC_CORS_ORIGINS = ["https://a.test", "https://b.test"]',
          'SVC_DEPLOY_ARGV = ["deploy", "to, here"]',
        ].join("\n"),
      },
      (dir) => {
        const flags = { SVC_CONFIG: join(dir, "flotilla.toml") };
        const { config, warnings } = loadConfig("hub", { env: {}, flags });
        expect(warnings).toEqual([]);
        expect(config.submit_wait_ms).toBe(1_500);
        expect(config.queue.pull_on_free).toBe(false);
        expect(config.cors_origins).toEqual(["https://a.test", "https://b.test"]);
        expect(config.deploy.argv).toEqual(["deploy", "to, here"]);
      },
    ));

  const refused: [string, string, string][] = [
    ["SVC_PORT = ", "is not TOML", "--config: "],
    ["[worker]\nLANE_POOL = 2", "must be text, a number", "worker: in "],
    ["SVC_PORT = 99999", "must be at most 65535, not 99999 (from ", "SVC_PORT: "],
  ];
  for (const [text, says, begins] of refused)
    test(`${JSON.stringify(text)} is refused by name and file`, () =>
      withFiles({ "flotilla.toml": text }, (dir) => {
        const SVC_CONFIG = join(dir, "flotilla.toml");
        const said = refusal(() => loadConfig("hub", { env: { SVC_CONFIG } }));
        expect(said).toStartWith(begins);
        expect(said).toContain(says);
        expect(said).toContain(SVC_CONFIG);
      }));

  test("is read only where it is named", () =>
    withFiles({}, (dir) => {
      const SVC_CONFIG = join(dir, "none.toml");
      const said = refusal(() => loadConfig("hub", { env: { SVC_CONFIG } }));
      expect(said).toBe(`--config: ${SVC_CONFIG} does not exist`);
    }));
});

describe("names that nobody reads", () => {
  const said = (env: EnvSource) => unknownNames(gatherConfig({ env }));

  test("one that looks like ours is told, with the name that was probably meant", () => {
    expect(said({ SVC_PROT: "1", LANE_POL: "2", SVC_NOTHING_OF_THE_KIND: "x" })).toEqual({
      refusals: [],
      warnings: [
        "LANE_POL: is not a variable of Flotilla, did you mean LANE_POOL?",
        "SVC_NOTHING_OF_THE_KIND: is not a variable of Flotilla",
        "SVC_PROT: is not a variable of Flotilla, did you mean SVC_PORT?",
      ],
    });
  });

  test("a variable of the runtime in a list of names is told, for the executable starts without it", () => {
    const lists = {
      SVC_TASK_ENV: "BUCKET, BUN_CONFIG_MAX_HTTP_REQUESTS",
      SVC_DEPLOY_ENV: "BUN_INSTALL",
    };
    expect(said(lists)).toEqual({
      refusals: [],
      warnings: [
        "SVC_TASK_ENV: BUN_CONFIG_MAX_HTTP_REQUESTS would change the executable's runtime, which starts without it and does not pass it on: set it in the workload's env",
      ],
    });
    expect(said({ SVC_ENGINE_KEY_ENV: "BUN_KEY" }).warnings).toEqual([
      expect.stringMatching(/^SVC_ENGINE_KEY_ENV: BUN_KEY .* does not pass it on$/),
    ]);
  });

  const guards: [string, string | null][] = [
    ["SVC_API_TOKN_FILE", "SVC_API_TOKEN_FILE"],
    ["SVC_APITOKEN", "SVC_API_TOKEN"],
    ["SVC_API_TOKNE", "SVC_API_TOKEN"],
    ["WORKER_SECERT_FILE", "WORKER_SECRET_FILE"],
    ["SVC_ADMIN_PASSWROD_FILE", "SVC_ADMIN_PASSWORD_FILE"],
    ["SVC_TOKEN", null],
    ["WORKER_TOKEN", null],
    ["S3_SECRET_ACCES_KEY_FILE", "S3_SECRET_ACCESS_KEY_FILE"],
  ];
  for (const [name, meant] of guards)
    test(`${name} looks like a secret, so nothing starts`, () => {
      const message = refusal(() => loadConfig("hub", { env: { [name]: "x" } }));
      expect(message).toStartWith(
        `${name}: is not a variable of Flotilla, but looks like a secret`,
      );
      if (meant !== null) expect(message).toEndWith(`did you mean ${meant}?`);
    });

  test("a file of what is no secret, or what the driver reads, is refused with what to do", () => {
    expect(said({ SVC_PORT_FILE: "/x", PGPASSWORD_FILE: "/x" })).toEqual({
      warnings: [],
      refusals: [
        "PGPASSWORD_FILE: is not read; put the whole URL into a file and set SVC_DB_URL_FILE",
        "SVC_PORT_FILE: is not read: SVC_PORT is not a secret, set it directly",
      ],
    });
  });

  test("what belongs to others is left alone", () => {
    const others = {
      PATH: "/bin",
      AWS_SHARED_CREDENTIALS_FILE: "/x",
      AWS_WEB_IDENTITY_TOKEN_FILE: "/x",
      SSL_CERT_FILE: "/x",
      GITHUB_TOKEN: "t",
      DB_PASSWORD: "p",
      KUBERNETES_SERVICE_PORT: "1",
      SVC_RECIPE_ENV: "SVC_SITE_PASSWORD",
      SVC_SITE_PASSWORD: "x",
      FLOTILLA_TEST_GROUP: "y",
    };
    expect(said(others)).toEqual({ warnings: [], refusals: [] });
  });

  test("variables of another mode are no mistake, for machines share their files", () => {
    const every = Object.fromEntries([...KNOWN].map((name) => [name, "1"]));
    expect(said({ ...every, SVC_CONFIG: "" })).toEqual({ warnings: [], refusals: [] });
  });

  test("in the configuration file every unknown name is told, and where it stands", () =>
    withFiles({ "flotilla.toml": "PORT = 1\nSVC_PROT = 1\n" }, (dir) => {
      const SVC_CONFIG = join(dir, "flotilla.toml");
      const { warnings } = loadConfig("hub", { env: { SVC_CONFIG } });
      expect(warnings).toHaveLength(2);
      for (const warning of warnings) expect(warning).toContain(SVC_CONFIG);
    }));

  test("nearestWord finds slips of the pen and nothing far away", () => {
    const words = ["SVC_PORT", "SVC_HOST"];
    expect(nearestWord("SVC_PROT", words)).toBe("SVC_PORT");
    expect(nearestWord("SVC_POTR", words)).toBe("SVC_PORT");
    expect(nearestWord("SVC_COLOUR", words)).toBeNull();
    expect(nearestWord("", words)).toBeNull();
  });
});

describe("variables as they are shown", () => {
  const lines = (mode: "hub" | "worker", env: EnvSource) =>
    new Map(describeVariables(mode, gatherConfig({ env })).map((line) => [line.name, line]));

  const IN_URL = /_(URL|PROXY|ENDPOINT)$/;

  test("no secret is shown, whole or in a URL", () => {
    const env = Object.fromEntries(
      SECRETS.map((name) => [name, IN_URL.test(name) ? `x://u:hunter2@h/${name}` : "hunter2"]),
    );
    for (const mode of ["hub", "worker"] as const)
      expect(JSON.stringify([...lines(mode, env).values()])).not.toContain("hunter2");
    const proxy = { SVC_PROXY: "u:hunter2@proxy:3128" };
    expect(lines("worker", proxy).get("SVC_PROXY")?.value).toBe("***");
    expect(lines("hub", env).get("SVC_API_TOKEN")?.value).toBe("***");
    expect(lines("hub", { SVC_DB_URL: "postgres://u:hunter2@h/db" }).get("SVC_DB_URL")?.value).toBe(
      "postgres://***@h/db",
    );
  });

  test("a default is shown as it would be written, also where it depends on others", () => {
    const hub = lines("hub", { SVC_DATA_DIR: "/srv/x" });
    expect(hub.get("SVC_DB_URL")).toEqual({
      name: "SVC_DB_URL",
      value: "sqlite:/srv/x/flotilla.db",
      from: "default",
      file: null,
    });
    expect(hub.get("SVC_HOST")?.value).toBe("0.0.0.0");
    expect(hub.get("SVC_SUBMIT_WAIT_S")?.value).toBe("8");
    expect(hub.get("SVC_API_TOKEN")?.value).toBeNull();
    expect(lines("worker", { LANE_POOL: "5" }).get("MAX_CONCURRENT")?.value).toBe("5");
  });

  test("every variable of the mode is there, in the order of its names", () => {
    expect([...lines("hub", {}).keys()]).toEqual(Object.keys(HubEnv.shape).sort());
    expect([...lines("worker", {}).keys()]).toEqual(Object.keys(WorkerEnv.shape).sort());
  });
});

test("every variable refuses a wrong value in plain words, without the validator's", () => {
  const wrong = ["x y;", "-1", "99999999999999999999", "a,b!,c", "short", "[", "0.5", "ftp://x"];
  for (const schema of [HubEnv, WorkerEnv])
    for (const [name, field] of Object.entries(schema.shape))
      for (const value of wrong) {
        const of = { [name]: value };
        const result = field.safeParse(value);
        if (result.success) continue;
        const said = refusal(() => parseEnv(schema, of));
        expect(said).toStartWith(`${name}: `);
        expect(said).not.toMatch(/expected|received|invalid|string to|\/\^|undefined|>=|<=/i);
      }
  expect(refusal(() => loadHubConfig({ SVC_ADMIN_PASSWORD: "short" }))).toBe(
    "SVC_ADMIN_PASSWORD: must be at least 12 characters long, not 5",
  );
});

import { describe, expect, test } from "bun:test";
import { pluginOf, withPlugin } from "#hub/pipeline/plugins/of-workload.ts";
import type { PluginFolder, Plugins } from "#hub/pipeline/plugins/plugin-folder.ts";
import { PluginManifest } from "#shared/protocol/schema/plugin.ts";
import type { ExecutorConfig, ExecutorType } from "#shared/protocol/schema/workload.ts";

const folder = (slug: string, executor: unknown, errors: string[] = []): PluginFolder => ({
  slug,
  path: `/srv/plugins/${slug}`,
  files: new Map(),
  errors,
  manifest: PluginManifest.parse({ slug, name: slug, version: "1", executor }),
  sha256: errors.length > 0 ? null : slug.padEnd(64, "0"),
});
const all = [
  folder("py", { type: "python_module", module: "main" }),
  folder("sh", { type: "command", argv: ["sh", "{plugin}/run.sh"] }),
  folder("web", { type: "fleet_fetch", options: { scroll: true, wait_seconds: 5 } }),
  folder("any", undefined),
  folder("broken", undefined, ["plugin.json is missing", "and more"]),
];
const plugins: Plugins = {
  dir: "/srv/plugins",
  all: () => all,
  get: (slug) => all.find((plugin) => plugin.slug === slug),
  refresh: async () => {},
};
const of = (executor_config: ExecutorConfig, executor_type: ExecutorType = "python_module") => ({
  executor_type,
  executor_config,
});
const ref = (slug: string, path = "") => ({
  slug,
  path,
  sha256: slug.padEnd(64, "0"),
  error: null,
});

describe("the plugin of a workload (rules/pipeline-plugins#which-plugin-a-workload-runs)", () => {
  test("is the one it names, or the one whose folder source_path is or lies in", () => {
    expect(pluginOf(plugins, of({ plugin: "py" }))).toEqual(ref("py"));
    for (const [source_path, path] of [
      ["/srv/plugins/py", ""],
      ["/srv/plugins/py/", ""],
      ["/srv/plugins/py/lib/main.py", "lib/main.py"],
    ] as const)
      expect(pluginOf(plugins, of({ source_path }))).toEqual(ref("py", path));
    expect(pluginOf(plugins, of({ plugin: "any", source_path: "/srv/plugins/any/a" }))).toEqual(
      ref("any", "a"),
    );
    expect(pluginOf(plugins, of({ plugin: "any", source_path: "/opt/here" }))).toEqual(ref("any"));
  });

  test("there is none for code that is on the workers themselves", () => {
    for (const source_path of ["/opt/py", "/srv/plugins", "/srv/plugins-old/py", "py", "../py"])
      expect(pluginOf(plugins, of({ source_path, module: "m" }))).toBeUndefined();
    expect(pluginOf(plugins, of({ module: "m" }))).toBeUndefined();
  });

  test("one that cannot be run is named with the reason", () => {
    const reason = (config: ExecutorConfig, type?: ExecutorType) => {
      const found = pluginOf(plugins, of(config, type));
      expect(found?.sha256).toBeNull();
      return found?.error;
    };
    expect(reason({ plugin: "none" })).toBe("the control plane has no plugin none");
    expect(reason({ source_path: "/srv/plugins/../plugins/none/x" })).toBe(
      "the control plane has no plugin none",
    );
    expect(reason({ plugin: "broken" })).toBe("plugin broken: plugin.json is missing; and more");
    expect(reason({ plugin: "py" }, "command")).toBe(
      "plugin py is of type python_module, not command",
    );
  });

  test("its manifest says what the workload does not: module, argv, options one by one", () => {
    const config = (given: ExecutorConfig, type?: ExecutorType) =>
      withPlugin(plugins, of(given, type)).executor_config;
    expect(config({ plugin: "py" }).module).toBe("main");
    expect(config({ plugin: "py", module: "other" }).module).toBe("other");
    expect(config({ plugin: "sh" }, "command").argv).toEqual(["sh", "{plugin}/run.sh"]);
    expect(config({ plugin: "web", options: { wait_seconds: 1 } }, "fleet_fetch").options).toEqual({
      scroll: true,
      wait_seconds: 1,
    });
    expect(config({ module: "m" })).toEqual({ module: "m" });
  });
});

import { loadHubConfig } from "#hub/platform/config.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import type { Mode } from "../cli/flags.ts";
import { shapeOf, shownValue, type VariableSchema } from "./known.ts";
import type { GatheredVariables, Origin } from "./variable-sources.ts";

/** A variable as people see it. */
export interface VariableLine extends Origin {
  name: string;
  /** As it would be written, the default included; null when it is unset. A secret is `***`. */
  value: string | null;
}

/** The source of a value, in words: `credential /run/credentials/…`. */
export const spellOrigin = ({ from, file }: Origin): string =>
  `${from.replace("_", " ")}${file === null ? "" : ` ${file}`}`;

/** The default as it would be written into the variable; null for none. */
export function spellDefault(name: string, schema: VariableSchema): string | null {
  const value = schema.safeParse(undefined).data;
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(",");
  if (typeof value === "boolean") return value ? "1" : "0";
  if (typeof value === "number" && name.endsWith("_S")) return String(value / 1000);
  return String(value);
}

/** Defaults that depend on the mode or on other variables: the schema has none, the configuration does. */
function derivedDefaults(mode: Mode, env: GatheredVariables["env"]): Record<string, string | null> {
  try {
    if (mode === "worker") {
      const { max_concurrent, data_dir } = loadWorkerConfig(env, {});
      return { MAX_CONCURRENT: String(max_concurrent), SVC_DATA_DIR: data_dir };
    }
    const config = loadHubConfig(env, {}, mode);
    return {
      PUBLIC_BASE_URL: config.public_base_url,
      SVC_DATA_DIR: config.data_dir,
      SVC_DB_URL: config.db_url,
      SVC_HOST: config.host,
      SVC_MINIO_PREFIXES: config.minio_prefixes.join(","),
      SVC_OBJECTS_URL: config.objects_url,
      SVC_PLUGINS_DIR: config.plugins_dir,
    };
  } catch {
    // A value is wrong, which is reported separately.
    return {};
  }
}

/** Every variable of the mode by name: its effective value and its source. */
export function describeVariables(mode: Mode, { env, origins }: GatheredVariables): VariableLine[] {
  const derived = derivedDefaults(mode, env);
  return Object.entries(shapeOf(mode))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => {
      const given = env[name];
      if (given !== undefined)
        return {
          name,
          value: shownValue(name, given),
          ...(origins.get(name) ?? { from: "environment", file: null }),
        };
      const value = derived[name] ?? spellDefault(name, schema);
      return {
        name,
        value: value === null ? null : shownValue(name, value),
        from: "default",
        file: null,
      };
    });
}

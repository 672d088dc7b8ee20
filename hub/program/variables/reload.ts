import type { HubConfig } from "#hub/platform/config.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import type { WorkerConfig } from "#worker/config.ts";
import type { Mode } from "../cli/flags.ts";
import { isReloadable, shapeOf, shownValue } from "./known.ts";
import {
  type ConfigSources,
  gatherConfig,
  judgeConfig,
  judgeNames,
  type LoadedConfig,
} from "./load.ts";

/** The result of reading the variables again. */
interface Reloaded {
  /** `NAME: before → after` for those that take effect now; secrets masked. */
  changed: readonly string[];
  /** The same for those that take effect after a restart. */
  needs_restart: readonly string[];
  warnings: readonly string[];
}

export interface Reloader<C> {
  /**
   * `take` applies the new configuration. @throws ConfigError when a value or a file is bad, and what
   * `take` throws; nothing has changed then.
   */
  reload(take: (config: C) => void): Reloaded;
}

function shown(name: string, value: string | undefined): string {
  if (value === undefined) return "unset";
  return shownValue(name, value);
}

/**
 * Rereads variables from where they may have changed since the start: configuration file, secret files, credentials.
 * Those that only take effect at a start keep their values until then.
 */
export function createReloader<C extends WorkerConfig | HubConfig>(
  mode: Mode,
  sources: ConfigSources,
  started: LoadedConfig<C>,
): Reloader<C> {
  const names = Object.keys(shapeOf(mode));
  let current: EnvSource = started.env;
  return {
    reload: (take) => {
      const given = gatherConfig(sources);
      const fresh = { env: { ...sources.defaults, ...given.env }, origins: given.origins };
      const warnings = judgeNames(fresh);
      judgeConfig(mode, fresh);
      const differing = names.filter((name) => fresh.env[name] !== current[name]);
      const changed = differing.filter((name) => isReloadable(mode, name));
      const needs_restart = differing.filter((name) => !isReloadable(mode, name));
      const next: EnvSource = { ...fresh.env };
      for (const name of needs_restart) next[name] = current[name];
      take(judgeConfig(mode, { env: next, origins: given.origins }) as C);
      const line = (name: string) =>
        `${name}: ${shown(name, current[name])} → ${shown(name, fresh.env[name])}`;
      const report = {
        changed: changed.map(line),
        needs_restart: needs_restart.map(line),
        warnings,
      };
      current = next;
      return report;
    },
  };
}

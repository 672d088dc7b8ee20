import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { type Loop, startLoop } from "#shared/kit/loop.ts";
import type { PluginFolder, Plugins } from "./plugin-folder.ts";
import { scanPlugins } from "./scan.ts";

export interface PluginsDeps {
  dir: string;
  /** Where the plugins are that the program brings along; one of `dir` with the same slug counts in its place. */
  bundled_dir: string;
  clock: Clock;
  log: Log;
}

/** Workers hear of a changed plugin within this time. Scanning an unchanged folder of 1,000 files takes 15 ms. */
const LOOK_EVERY_MS = 2_000;

function createPlugins(dir: string, bundled: ReadonlyMap<string, PluginFolder>): Plugins {
  let seen = new Map<string, PluginFolder>();
  let last: Promise<unknown> = Promise.resolve();
  /** Everybody who calls while a scan is under way shares the next one: their scan must begin after their call. */
  let coming: Promise<void> | null = null;
  const look = async () => {
    coming = null;
    const both = new Map([...bundled, ...(await scanPlugins(dir, seen))]);
    seen = new Map([...both].sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return {
    dir,
    all: () => [...seen.values()],
    get: (slug) => seen.get(slug),
    refresh: () => {
      coming ??= last.then(look);
      last = coming.catch(() => {});
      return coming;
    },
  };
}

/** Reads the plugins and keeps watching them until it is stopped. */
export async function startPlugins(deps: PluginsDeps): Promise<Plugins & Loop> {
  // Nothing changes them while the program runs.
  const bundled = await scanPlugins(deps.bundled_dir, new Map());
  const plugins = createPlugins(deps.dir, bundled);
  await plugins.refresh().catch((err) => deps.log.error({ err }, "could not read the plugins"));
  const loop = startLoop({
    name: "plugins",
    everyMs: LOOK_EVERY_MS,
    clock: deps.clock,
    log: deps.log,
    pass: () => plugins.refresh(),
  });
  return { ...plugins, stop: loop.stop };
}

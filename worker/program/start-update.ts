import type { Log } from "#shared/kit/log.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { startReleaseFeed } from "./update/release-feed.ts";
import { versionsDir } from "./update/state.ts";
import { createUpdater, type Updater, type UpdaterDeps } from "./update/updater.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/** The part of a worker that keeps it at the hub's version (rules/updates#orders); closed with `scope`. */
export function startUpdates(
  deps: WorkerDeps,
  scope: Scope,
  log: Log,
  work: Pick<UpdaterDeps, "sessions" | "drain" | "exit">,
): Updater {
  const { clock, version, config } = deps;
  const base = deps.base ?? version;
  const dir = versionsDir(config.data_dir);
  const release = deps.release ?? null;
  const updater = createUpdater({
    dir,
    base,
    version,
    clock,
    log,
    ...work,
    trusted: { release, hub_key: config.update.hub_key },
    settings: config.update,
  });
  scope.add("updater", updater, (u) => u.stop());
  const { release_feed: repo, release_every_ms: every_ms, fetches, exits } = config.update;
  if (repo !== null && fetches && exits)
    scope.add(
      "release feed",
      startReleaseFeed({
        repo,
        every_ms,
        dir,
        base,
        updater,
        clock,
        log,
        trusted: release,
        random: Math.random,
      }),
      (f) => f.stop(),
    );
  return updater;
}

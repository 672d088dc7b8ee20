import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { UpdateReport } from "#shared/protocol/schema/updates.ts";
import { createAim } from "./aim.ts";
import { type ChangeoverDeps, changeTo } from "./changeover.ts";
import type { Trusted } from "./proof.ts";
import { createPursuit } from "./pursuit.ts";
import { UpdateRefused } from "./stage.ts";
import { openVersions } from "./versions.ts";

export interface UpdateSettings {
  /** SVC_WORKER_AUTO_FETCH_SOURCE */
  fetches: boolean;
  /** SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH */
  exits: boolean;
  /** How long open sessions may delay an update. */
  wait_ms: number;
}

export interface UpdaterDeps extends Pick<ChangeoverDeps, "sessions" | "drain" | "exit"> {
  /** Where versions are kept. */
  dir: string;
  /** Version of the program; the one that runs may be an updated one. */
  base: string;
  version: string;
  settings: UpdateSettings;
  /** Absent when nobody is named. */
  trusted?: Trusted;
  clock: Clock;
  log: Log;
}

export interface Updater {
  /**
   * The version to take now (rules/updates#orders); `source` is where the archive is. Another call retries a version
   * that failed.
   */
  offered(target: string, source: () => Promise<string>): void;
  /** The version to take later, when it is this worker's turn: work that began before its restart is abandoned. */
  held(target: string): void;
  /** A release that was found elsewhere: its archive is already on the disk. */
  install(target: string, archive: string): Promise<void>;
  /** Wall clock of the last offer, null before the first. */
  offered_at(): number | null;
  /** The report for the hub and its users; null while there is nothing to report. */
  report(): UpdateReport | null;
  /** Idempotent. */
  stop(): Promise<void>;
}

const NOBODY: Trusted = { release: null, hub_key: null };

/** Keeps a worker at the version its hub has: fetch, check, stage, drain, swap, exit (rules/updates#orders). */
export function createUpdater(deps: UpdaterDeps): Updater {
  const { version, settings, clock, log } = deps;
  const stopping = new AbortController();
  const aim = createAim(version, log);
  const versions = openVersions({ ...deps, trusted: deps.trusted ?? NOBODY });
  const change = (wanted: string) =>
    changeTo(wanted, {
      ...deps,
      wait_ms: settings.wait_ms,
      aim,
      versions,
      stopping: stopping.signal,
    });
  let offered_at: number | null = null;
  /** Of the last offer: its link may be another one by now. */
  let source: (() => Promise<string>) | null = null;
  const fetchVersion = async (wanted: string): Promise<void> => {
    if (source === null) throw new UpdateRefused("no hub has offered it");
    await versions.fetch(wanted, await source(), stopping.signal);
  };
  const pursuit = createPursuit({
    version,
    aim,
    versions,
    fetchVersion,
    change,
    clock,
    stopping: stopping.signal,
  });

  /** There is nothing to do; an update that was under way ends before its restart. */
  const stay = (offer: string) => {
    aim.clear();
    pursuit.hurry();
    const written = versions.forgive(offer);
    void written.catch((err) => log.warn({ err: errorMessage(err) }, "state not saved"));
  };
  /** People must be able to see why it is not taken, even after a restart of this process. */
  const remind = async (offer: string): Promise<void> => {
    const said = pursuit.offers();
    const error = offer === version ? null : await versions.refusalOf(offer);
    if (error === null || said !== pursuit.offers() || aim.target() !== version) return;
    aim.rejected(offer, error);
  };
  return {
    held: (offer) => {
      offered_at = clock.monotonic();
      stay(offer);
      void remind(offer).catch((err) => log.warn({ err: errorMessage(err) }, "state not readable"));
    },
    offered: (offer, from) => {
      offered_at = clock.monotonic();
      source = from;
      if (offer === version) return stay(offer);
      const changed = offer !== aim.target();
      aim.set(offer);
      if (changed) pursuit.hurry();
      if (!settings.exits) aim.turnedOff("SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH");
      else if (!settings.fetches) aim.turnedOff("SVC_WORKER_AUTO_FETCH_SOURCE");
      else pursuit.begin();
    },
    install: async (found, archive) => {
      if (found !== version) await pursuit.install(found, archive);
    },
    offered_at: () => offered_at,
    report: aim.report,
    stop: async () => {
      stopping.abort();
      await pursuit.idle();
    },
  };
}

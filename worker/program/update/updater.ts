import { mkdir, rm } from "node:fs/promises";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { UpdateReport } from "#shared/protocol/schema/updates.ts";
import { fetchHub } from "#shared/protocol/trust.ts";
import { download } from "./download.ts";
import { demandProof, type Trusted } from "./proof.ts";
import {
  downloadPath,
  findStaged,
  MAX_ARCHIVE_BYTES,
  pruneVersions,
  stageArchive,
  UpdateRefused,
} from "./stage.ts";
import { readState, type UpdateState, writeState } from "./state.ts";

/** A hub whose archive was refused may be repaired. */
const RETRY_MS = 30_000;
const MAX_RETRY_MS = 600_000;
/** How often a postponed update checks whether the sessions are gone. */
const QUIET_CHECK_MS = 1_000;

export interface UpdateSettings {
  /** SVC_WORKER_AUTO_FETCH_SOURCE */
  fetches: boolean;
  /** SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH */
  exits: boolean;
  /** How long open sessions may put an update off. */
  wait_ms: number;
}

export interface UpdaterDeps {
  /** Where versions are kept. */
  dir: string;
  /** Version of the program; the one that runs may be an updated one. */
  base: string;
  version: string;
  settings: UpdateSettings;
  /** Absent when nobody is named. */
  trusted?: Trusted;
  /** Sessions that people or programs hold open. */
  sessions(): number;
  /** Accepts nothing new and resolves when nothing is running any more; sessions are ended at `until` (epoch ms). */
  drain(why: string, until: number): Promise<void>;
  /** Everything is written down: the process may end with 42. */
  exit(): void;
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
  /** What the hub and its users should know; null while there is nothing to report. */
  report(): UpdateReport | null;
  /** Idempotent. */
  stop(): Promise<void>;
}

const NOBODY: Trusted = { release: null, hub_key: null };

/** Keeps a worker at the version its hub has: fetch, check, stage, drain, swap, exit (rules/updates#orders). */
export function createUpdater(deps: UpdaterDeps): Updater {
  const { dir, base, version, settings, clock, log, trusted = NOBODY } = deps;
  const stopping = new AbortController();
  let target = version;
  let offered_at: number | null = null;
  let report: UpdateReport | null = null;
  let running: Promise<void> | null = null;
  let wake = new AbortController();
  /** Offers to be followed, and how many there were when the last try began. */
  let offers = 0;
  let seen = 0;
  /** Of the last offer: its link may be another one by now. */
  let source: (() => Promise<string>) | null = null;

  const refuse = (reason: string, rolled_back = false) => {
    // It must not be taken any more.
    if (target === version) return;
    report = { target, state: "failed", error: reason.slice(0, 1_000) };
    if (rolled_back) report.rolled_back = true;
    log.error({ version, target, reason }, "update not taken, this version keeps running");
  };

  const refuseWith = (err: unknown) => refuse(errorMessage(err));

  /** Whether a version need not be fetched. */
  const isHere = async (wanted: string): Promise<boolean> =>
    wanted === base || (await findStaged(dir, wanted)) !== null;

  const fetchVersion = async (wanted: string): Promise<void> => {
    if (source === null) throw new UpdateRefused("no hub has offered it");
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const archive = downloadPath(dir);
    try {
      const signal = stopping.signal;
      const nonce = newToken();
      const url = `${await source()}?for=${nonce}`;
      const { sha256, headers } = await download(
        { clock, signal, get: fetchHub },
        { url, to: archive, max_bytes: MAX_ARCHIVE_BYTES },
      );
      await demandProof(dir, trusted, { nonce, version: wanted, sha256, headers }, log);
      await stageArchive(dir, archive, wanted);
    } finally {
      await rm(archive, { force: true });
    }
  };

  /** Sessions put an update off, but not forever. */
  const waitForQuiet = async (until: number): Promise<void> => {
    while (deps.sessions() > 0 && clock.monotonic() < until && !stopping.signal.aborted)
      await clock.sleep(QUIET_CHECK_MS, stopping.signal);
  };

  /** Before the drain: a disk that takes no pointer must not cost the worker its lanes. @returns the old state. */
  const swap = async (wanted: string): Promise<UpdateState> => {
    const state = await readState(dir, base, log);
    const previous = version === base ? null : version;
    const current = wanted === base ? null : wanted;
    const attempts = current === null ? null : 0;
    await writeState(dir, { ...state, current, previous, attempts });
    await pruneVersions(dir, [current, previous]);
    return state;
  };

  /** Drains and leaves; a target that is the running version again needs no swap, but the worker has drained. */
  const change = async (wanted: string): Promise<void> => {
    const until = clock.monotonic() + settings.wait_ms;
    report = { target: wanted, state: "waiting", error: null };
    if (deps.sessions() > 0)
      log.info({ target: wanted, sessions: deps.sessions() }, "update waits for open sessions");
    await waitForQuiet(until);
    if (stopping.signal.aborted || target !== wanted) return;
    report = { target: wanted, state: "draining", error: null };
    log.info({ version, target: wanted }, "worker drains for an update");
    const before = await swap(wanted);
    await deps.drain(`worker is updating to ${wanted}`, until);
    if (stopping.signal.aborted) return;
    if (target !== wanted) await writeState(dir, before).catch(refuseWith);
    log.info({ version, target }, "worker exits for an update");
    deps.exit();
  };

  const refusalOf = async (wanted: string): Promise<string | null> => {
    const { bad } = await readState(dir, base, log);
    return bad?.version === wanted ? `version ${wanted} failed here: ${bad.reason}` : null;
  };

  /** @returns false when it may work later. */
  const attempt = async (wanted: string): Promise<boolean> => {
    const reason = await refusalOf(wanted);
    if (reason !== null) {
      refuse(reason, true);
      return true;
    }
    try {
      report = { target: wanted, state: "fetching", error: null };
      if (!(await isHere(wanted))) await fetchVersion(wanted);
      await change(wanted);
      return true;
    } catch (err) {
      if (stopping.signal.aborted) return true;
      refuseWith(err);
      return false;
    }
  };

  const follow = async (): Promise<void> => {
    for (let retry_ms = RETRY_MS; !stopping.signal.aborted && target !== version; ) {
      const wanted = target;
      seen = offers;
      wake = new AbortController();
      const over = await attempt(wanted);
      if (target !== wanted) retry_ms = RETRY_MS;
      else if (over) return;
      else {
        await clock.sleep(retry_ms, AbortSignal.any([stopping.signal, wake.signal]));
        retry_ms = Math.min(retry_ms * 2, MAX_RETRY_MS);
      }
    }
  };

  /** A hub with another version lets the one that failed be tried again some day. */
  const forgive = async (offer: string): Promise<void> => {
    const state = await readState(dir, base, log);
    if (state.bad !== null && state.bad.version !== offer)
      await writeState(dir, { ...state, bad: null });
  };

  const begin = () => {
    offers += 1;
    if (running !== null) return;
    seen = offers;
    running = forgive(target)
      .then(follow)
      .catch(refuseWith)
      .finally(() => {
        running = null;
        // An offer that came while the last was just ending. A draining worker is already decided.
        if (offers > seen && !stopping.signal.aborted && report?.state !== "draining") begin();
      });
  };

  const install = async (found: string, archive: string): Promise<void> => {
    const reason = await refusalOf(found);
    if (reason !== null) throw new UpdateRefused(reason);
    if (!(await isHere(found))) await stageArchive(dir, archive, found);
    target = found;
    await change(found);
  };

  /** There is nothing to do; an update that was under way ends before its restart. */
  const stay = (offer: string) => {
    target = version;
    wake.abort();
    report = null;
    void forgive(offer).catch((err) => log.warn({ err: errorMessage(err) }, "state not written"));
  };

  return {
    held: (offer) => {
      offered_at = clock.monotonic();
      stay(offer);
      const said = offers;
      // People must be able to see why it is not taken, even after a restart of this process.
      const remind = async () => {
        const error = offer === version ? null : await refusalOf(offer);
        if (error === null || said !== offers || target !== version) return;
        report = {
          target: offer,
          state: "failed",
          error: error.slice(0, 1_000),
          rolled_back: true,
        };
      };
      void remind().catch((err) => log.warn({ err: errorMessage(err) }, "state not read"));
    },
    offered: (offer, from) => {
      offered_at = clock.monotonic();
      source = from;
      if (offer === version) return stay(offer);
      const changed = offer !== target;
      target = offer;
      if (changed) wake.abort();
      const off = !settings.exits
        ? "SVC_WORKER_AUTO_EXIT_ON_VERSION_MISMATCH"
        : "SVC_WORKER_AUTO_FETCH_SOURCE";
      if (settings.exits && settings.fetches) return begin();
      report = { target, state: "failed", error: `${off} is 0`, off: true };
      log.warn(
        { version, expected: offer },
        `worker version differs from the hub's; no update, because ${off} is 0`,
      );
    },
    install: async (found, archive) => {
      if (found === version || running !== null) return;
      const work = install(found, archive);
      running = work
        .catch(() => {})
        .finally(() => {
          running = null;
          // What a hub has offered meanwhile takes precedence.
          if (target !== found && target !== version && !stopping.signal.aborted) begin();
        });
      await work;
    },
    offered_at: () => offered_at,
    report: () => report,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

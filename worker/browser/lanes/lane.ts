import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Loop } from "#shared/kit/loop.ts";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import type { Lane as LaneRecord, LaneState } from "#shared/protocol/schema/worker.ts";
import type { StartedBrowser } from "../process/launch.ts";
import type { ProcessExit } from "../process/spawn.ts";
import type { Display } from "./display.ts";
import type { BrowserExit, LaneBrowser } from "./lane-browser.ts";
import { type BrowserWish, startedWith, trusts, type UserData } from "./user-data.ts";
import { startWatch, type Watched, type WatchLimits } from "./watch.ts";

export interface LaneDeps {
  lane_idx: number;
  /** Lanes without a display: everything in them is headless. */
  headless: boolean;
  limits: WatchLimits;
  clock: Clock;
  log: Log;
  /** Whether its browsers have Chromium's own sandbox. */
  sandbox: LaneRecord["sandbox"];
  startBrowser(
    headless: boolean,
    display: Display | null,
    signal: AbortSignal,
    user_data: UserData,
  ): Promise<StartedBrowser>;
  startDisplay(signal: AbortSignal): Promise<Display>;
  onChange(lane: LaneRecord): void;
}

export interface LaneHold {
  lane_idx: number;
  /**
   * The lane's warm browser when it fits, else a new one in its place (a headless job on a headful lane). On a headless
   * lane everything is headless. With `seed` it is always a new one, started on the user-data directory that `seed`
   * prepared; the release removes it again (rules/profiles#profile-of-a-run). So it is with what else it is started with.
   * @throws BrowserStartError, what `seed` threw, or an Error once the hold is over.
   */
  browser(wish: BrowserWish): Promise<LaneBrowser>;
  /**
   * Closes the browser cleanly, calls `between` with its user-data directory while nothing writes to it, and starts it
   * again on the same one; its tabs are gone. It also comes back when `between` throws; the error is then rethrown.
   * @throws when there is no browser, when it does not start again, or once the hold is over.
   */
  restart(between: (user_data: string) => Promise<void>): Promise<LaneBrowser>;
  /**
   * Replaces the browser (rules/lanes#new-browser-after-every-use) and resolves when the lane is warm again, quarantined or
   * closed. Idempotent.
   */
  release(): Promise<void>;
}

export interface Occupant {
  /** Null for a session that no job owns. */
  job_id: string | null;
  session_id: string;
}

/** A lane that failed this often in a row is quarantined and tried less and less often. */
const MAX_FAILURES = 3;
/** How many times a job's own browser is started before the job fails. */
const MAX_SWAPS = 2;
const RETRY_MS = 250;
const QUARANTINE_MS = { first: 5_000, most: 300_000 };

/** Resolves with `work`; rejects as soon as `signal` aborts. */
function untilAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  const over = new Promise<never>((_, reject) => {
    const stop = () => reject(new Error("the lane was released"));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  return Promise.race([work, over]);
}

/** How long a lane waits for its next try after its `failures`-th failure in a row. */
export const retryDelay = (failures: number): number =>
  failures < MAX_FAILURES
    ? RETRY_MS * 2 ** (failures - 1)
    : Math.min(QUARANTINE_MS.first * 2 ** (failures - MAX_FAILURES), QUARANTINE_MS.most);

/**
 * One lane: a long-lived display and a Chromium that is replaced after every job.
 * `booting → warm → running → resetting → warm`; `recycling` replaces an idle browser that died, hung or grew;
 * `quarantined` after three failures to start; `dead` when closed. Everything but `running` is owned by `renew`.
 */
export class Lane implements Watched {
  private readonly deps: LaneDeps;
  private readonly abort = new AbortController();
  private state: LaneState = "booting";
  private reason: string | null = null;
  private occupant: Occupant | null = null;
  private current: StartedBrowser | null = null;
  /** The current browser has exited. */
  private gone = false;
  private screen: Display | null = null;
  private renewing: Promise<void> | null = null;
  private swapping: Promise<unknown> | null = null;
  /** Removals of directories that are under way. */
  private clearing: Promise<void> = Promise.resolve();
  private resting = Promise.withResolvers<void>();
  private watch: Loop | null = null;

  constructor(deps: LaneDeps) {
    this.deps = deps;
  }

  record(): LaneRecord {
    return {
      lane_idx: this.deps.lane_idx,
      state: this.state,
      session_id: this.occupant?.session_id ?? null,
      job_id: this.occupant?.job_id ?? null,
      mode: (this.current?.headless ?? this.deps.headless) ? "headless" : "headful",
      sandbox: this.deps.sandbox,
      reason: this.reason,
    };
  }

  /** Starts the lane; resolves when it is warm or quarantined. */
  boot(): Promise<void> {
    if (this.state === "dead") return Promise.resolve();
    this.watch = startWatch(this, this.deps.limits, this.deps.clock, this.deps.log);
    return this.renew("booting", null);
  }

  /** Takes the lane for a job; null unless it is warm and free. Synchronous, so it decides the race. */
  hold(occupant: Occupant): LaneHold | null {
    if (this.state !== "warm") return null;
    this.occupant = occupant;
    this.setState("running", null);
    const over = new AbortController();
    let released: Promise<void> | undefined;
    return {
      lane_idx: this.deps.lane_idx,
      browser: (wish) => this.browserFor(wish, over.signal),
      restart: (between) => this.restart(between, over.signal),
      release: () => {
        over.abort();
        released ??= this.renew("resetting", null);
        return released;
      },
    };
  }

  /** Ends everything the lane has started. */
  async close(): Promise<void> {
    if (this.state === "dead") return;
    this.abort.abort();
    this.occupant = null;
    this.setState("dead", null);
    await this.watch?.stop();
    await this.renewing;
    await this.swapping?.catch(() => {});
    try {
      await this.retire();
    } finally {
      await Promise.all([this.dropDisplay(), this.clearing]);
    }
  }

  browser(): StartedBrowser | null {
    return this.state === "warm" || this.state === "running" ? this.current : null;
  }

  display(): Display | null {
    return this.state === "warm" || this.state === "running" ? this.screen : null;
  }

  isIdle(): boolean {
    return this.state === "warm";
  }

  async endBrowser(reason: string): Promise<void> {
    this.deps.log.warn({ reason }, "chromium ended");
    await this.current?.endProcesses(reason);
  }

  async endDisplay(reason: string): Promise<void> {
    this.deps.log.warn({ reason }, "display ended by the watch");
    await this.screen?.stop();
  }

  recycle(reason: string): void {
    if (this.state === "warm") void this.renew("recycling", reason);
  }

  /** Resets the lane, whatever is in it. A second caller joins the first. */
  private renew(state: LaneState, reason: string | null): Promise<void> {
    if (this.state === "dead") return Promise.resolve();
    this.resting = Promise.withResolvers<void>();
    this.setState(state, reason);
    this.renewing ??= this.renewUntilWarm();
    return this.resting.promise;
  }

  private async renewUntilWarm(): Promise<void> {
    const { clock, log } = this.deps;
    const { signal } = this.abort;
    const started = clock.monotonic();
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.swapping?.catch(() => {});
        await this.retire();
        if (failures > 0) await this.dropDisplay();
        await this.restoreScreen();
        await this.replaceBrowser(this.deps.headless, signal);
        // A viewer of the session that ended may have changed it after the first time.
        await this.screen?.resize(RESOLUTION);
        await this.clearing;
        if (signal.aborted) return;
        // It may have exited while the state was not yet warm, when nobody acts on an exit.
        if (this.gone) throw new Error("Chromium died as soon as it had started");
        this.occupant = null;
        // Set before the state, because the state's listeners may start the next job at once.
        this.renewing = null;
        log.info({ ms: clock.monotonic() - started }, "lane warm");
        return this.setState("warm", null);
      } catch (err) {
        if (signal.aborted) return;
        failures += 1;
        log.warn({ err, failures }, "lane failed to start");
        if (failures >= MAX_FAILURES) {
          this.occupant = null;
          this.setState("quarantined", errorMessage(err));
        }
        await clock.sleep(retryDelay(failures), signal);
      }
    }
  }

  private async browserFor(wish: BrowserWish, over: AbortSignal): Promise<LaneBrowser> {
    const { seed } = wish;
    const headless = wish.headless || this.deps.headless;
    let seed_broke = false;
    const wanted = startedWith(wish);
    const user_data: UserData = { ...wanted };
    if (seed)
      user_data.seed = (dir) =>
        seed(dir).catch((err) => {
          seed_broke = true;
          throw err;
        });
    for (let starts = 0; ; starts += 1) {
      await this.swapping?.catch(() => {});
      if (over.aborted || this.abort.signal.aborted) throw new Error("the lane was released");
      const current = this.gone ? null : this.current;
      const fits = current?.headless === headless && trusts(current, wanted);
      if (fits && (!(seed || wanted.archive) || starts > 0)) return current;
      if (starts === MAX_SWAPS) throw new Error("Chromium died as soon as it had started");
      const signal = AbortSignal.any([over, this.abort.signal]);
      try {
        await this.swap(() =>
          this.retire().then(() => this.replaceBrowser(headless, signal, user_data)),
        );
      } catch (err) {
        if (starts === MAX_SWAPS - 1 || seed_broke) throw err;
      }
    }
  }

  private async restart(
    between: (user_data: string) => Promise<void>,
    over: AbortSignal,
  ): Promise<LaneBrowser> {
    await this.swapping?.catch(() => {});
    if (over.aborted || this.abort.signal.aborted) throw new Error("the lane was released");
    const old = this.current;
    if (!old || this.gone) throw new Error("the lane has no browser to restart");
    const signal = AbortSignal.any([over, this.abort.signal]);
    // From here on its exit is intended, and its directories belong to its successor.
    this.current = null;
    let failure: { err: unknown } | null = null;
    await this.swap(async () => {
      await old.shutDown();
      await untilAborted(signal, between(old.dirs.user_data)).catch((err) => {
        failure = { err };
      });
      if (signal.aborted) await old.killNow();
      signal.throwIfAborted();
      const { dirs } = old;
      await this.replaceBrowser(old.headless, signal, { dirs, ...startedWith(old) });
    });
    if (failure !== null) throw (failure as { err: unknown }).err;
    if (!this.current) throw new Error("Chromium died as soon as it had started");
    return this.current;
  }

  /** One change of browser at a time: `close` and `renew` wait for it. */
  private async swap(work: () => Promise<void>): Promise<void> {
    const swap = work();
    this.swapping = swap;
    try {
      await swap;
      this.announce();
    } finally {
      this.swapping = null;
    }
  }

  private async replaceBrowser(
    headless: boolean,
    signal: AbortSignal,
    user_data: UserData = {},
  ): Promise<void> {
    if (!headless) this.screen ??= this.adoptDisplay(await this.deps.startDisplay(signal));
    const display = headless ? null : this.screen;
    const browser = await this.deps.startBrowser(headless, display, signal, user_data);
    this.current = browser;
    this.gone = false;
    void browser.exited.then((exit) => this.onBrowserExit(browser, exit));
    // A browser whose pipe is gone cannot be used, alive or not.
    void browser.connection.closed.then(() => browser.endProcesses()).catch(() => {});
  }

  private adoptDisplay(display: Display): Display {
    void display.exited.then((exit) => this.onDisplayExit(display, exit));
    return display;
  }

  /** Ends the current browser, if there is one; its directories are removed while the next one starts. */
  private async retire(): Promise<void> {
    const browser = this.current;
    this.current = null;
    if (!browser) return;
    await browser.endProcesses();
    const cleared = browser.killNow().catch((err) => {
      this.deps.log.error({ err, dir: browser.dirs.root }, "run directory not removed");
    });
    const before = this.clearing;
    // Drop the value: that of `Promise.all` would hold its predecessor's, and so all of them since the start.
    this.clearing = cleared.then(() => before);
  }

  /** A viewer may have resized the screen; a display that cannot be restored to its own size is replaced. */
  private async restoreScreen(): Promise<void> {
    try {
      await this.screen?.resize(RESOLUTION);
    } catch (err) {
      this.deps.log.warn({ err }, "the screen did not get its size back, replacing the display");
      await this.dropDisplay();
    }
  }

  private async dropDisplay(): Promise<void> {
    const display = this.screen;
    this.screen = null;
    await display?.stop();
  }

  private onBrowserExit(browser: StartedBrowser, exit: BrowserExit): void {
    if (this.current !== browser) return;
    this.gone = true;
    const how = `Chromium exited with ${exit.signal ?? exit.code}`;
    this.deps.log.warn({ ...exit, state: this.state }, "chromium exited unasked");
    // While a job runs, the job sees the exit, fails and releases the lane.
    if (this.state === "warm") void this.renew("recycling", how);
  }

  private onDisplayExit(display: Display, exit: ProcessExit): void {
    if (this.screen !== display) return;
    this.screen = null;
    this.deps.log.warn({ ...exit, state: this.state }, "display exited unasked");
    // Removes what it left; the next browser start creates a new one.
    void display.stop().catch(() => {});
    if (this.state === "warm")
      void this.renew("recycling", `Xvnc exited with ${exit.signal ?? exit.code}`);
    else if (this.state === "running") void this.endBrowser("had lost its display").catch(() => {});
  }

  private setState(state: LaneState, reason: string | null): void {
    this.state = state;
    this.reason = reason;
    if (state === "warm" || state === "quarantined" || state === "dead") this.resting.resolve();
    this.announce();
  }

  private announce(): void {
    this.deps.onChange(this.record());
  }
}

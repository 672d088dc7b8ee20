import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Viewport } from "#shared/protocol/schema/browser-options.ts";
import type { DialogPolicy } from "#shared/protocol/schema/dialog.ts";
import type { RecordingEvent } from "#shared/recording/events.ts";
import { createMask } from "#shared/recording/masks.ts";
import type { Judge } from "#worker/egress/judge.ts";
import type { Replay } from "#worker/replay/replays.ts";
import { ActionFailure, browserStarting } from "../actions/failure.ts";
import type { TabLoad } from "../actions/loads.ts";
import { openPages, type Pages } from "../actions/pages.ts";
import { trueNetError } from "../fetch/net-errors.ts";
import { factsOf } from "../fetch/way-out.ts";
import type { JobTab, LaneBrowser } from "../lanes/lane-browser.ts";
import type { LaneHold } from "../lanes/pool.ts";
import { showPerson } from "../person/show-person.ts";
import type { RunRecorder } from "../recording/recorder.ts";
import type { ScriptPage } from "../scripted/run-scripted.ts";
import type { RunTrace } from "../trace/run-trace.ts";
import { type CdpClients, createCdpClients } from "./cdp-clients.ts";
import { listDialogs } from "./dialog-calls.ts";
import { createDialogs, type Dialogs } from "./dialogs.ts";
import { createDownloads, type Downloads } from "./downloads.ts";
import type { LiveDeps, NewLive } from "./live-deps.ts";
import type { LiveSession, Place, RulingJob } from "./live-session.ts";
import { createNetworkLog, heardToo, type NetworkWatch } from "./network-log.ts";
import { createSessionFiles, type OwnFiles } from "./session-files.ts";
import { AS_IT_IS, type ShownBrowser } from "./shown-browser.ts";
import type { TabInfo } from "./tabs.ts";
import { dialogEvent, failedEvent, hearLog, SAID_BY_PAGES, tellConsole, toldOf } from "./told.ts";
import { type BrowserWatch, watchBrowser } from "./watch.ts";

/** Why a session ended; its message is for people. */
export class SessionEnd extends Error {
  override readonly name = "SessionEnd";
}

interface Use {
  browser: LaneBrowser;
  watch: BrowserWatch;
  pages: Promise<Pages> | null;
  /** What pages say is told: Playwright is connected. */
  hears: boolean;
  alone: boolean;
}

const NEW_TAB_MS = 2_000;
const MAX_URL = 70_000;
const MAX_TITLE = 4_096;

/** One session and everything it has opened; `end` closes it all, but does not release the lane. */
export class Live implements LiveSession {
  readonly session_id: string;
  readonly lane_idx: number;
  lease_token: number;
  job_id: string | null;
  readonly hold: LaneHold;
  readonly signal: AbortSignal;
  readonly files: OwnFiles;
  readonly clients: CdpClients;
  readonly dialogs: Dialogs;
  readonly network: NetworkWatch;
  /** What is told to `tell` goes to all of them. */
  readonly recorders = new Set<Pick<RunRecorder, "tell" | "requests">>();
  /** What none of them shows: secrets of its runs, and what was typed into fields for such. */
  readonly mask = createMask();
  /** Keeps the bodies that its pages receive; null: nobody asked for that. */
  bodies: RunRecorder["bodies"] = null;
  /** Whoever records it is told what the browser itself says of its pages: where nothing more may be heard. */
  hears_log = false;
  /** The browser is somebody else's: nothing but its job touches it. */
  foreign = false;
  /** The capture that answers its browser; the session closes it. */
  replay: Replay | null = null;
  /** What Playwright does in it is traced; null: it is not. */
  trace: RunTrace | null = null;
  /** Where the hub's script began, while a scripted job runs in the session. */
  script: ScriptPage | null = null;
  readonly guard: Judge;
  /** What its pages see of the browser, and what that is started with. */
  readonly shown: ShownBrowser;
  /** Resolves when the session ends. */
  readonly ended: Promise<void>;
  private readonly log: Log;
  private readonly viewport: Viewport | null;
  private readonly dialog_policy: DialogPolicy;
  private job: RulingJob | null = null;
  private readonly over = new AbortController();
  private readonly downloads: Downloads;
  private readonly remove: () => void;
  private use: Use | null = null;
  private lent = false;
  private target: string | null = null;
  private restarting: Promise<void> | null = null;

  constructor(deps: LiveDeps, input: NewLive) {
    this.session_id = input.session_id;
    this.lane_idx = input.lane_idx;
    this.lease_token = input.lease_token;
    this.job_id = input.job_id;
    this.hold = input.hold;
    this.viewport = input.viewport ?? null;
    this.dialog_policy = input.dialog_policy ?? "wait";
    this.shown = input.shown ?? AS_IT_IS;
    this.network = createNetworkLog(
      (error_text, url) => trueNetError(error_text, url, this.browser()?.gate ?? null),
      (entry, origin) => this.tell(failedEvent(entry, origin)),
      deps.sizes.add,
    );
    this.signal = this.over.signal;
    this.guard = deps.guard;
    this.clients = toldOf(createCdpClients(deps.clock), (event) => this.tell(event));
    this.ended = new Promise((resolve) => {
      this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.log = deps.log.child({ session_id: input.session_id, lane_idx: input.lane_idx });
    this.dialogs = createDialogs({
      clock: deps.clock,
      clients: this.clients,
      policy: () => this.job?.dialog_policy ?? this.dialog_policy,
      onDialog: (dialog, answer) => this.tell(dialogEvent(dialog, answer)),
      log: this.log,
    });
    const { max_download_bytes = deps.download_max_bytes } = this.shown.options ?? {};
    const max_bytes = Math.min(max_download_bytes, deps.download_max_bytes);
    this.downloads = createDownloads({ max_bytes });
    this.files = createSessionFiles({
      root: () => this.use?.browser.dirs.root ?? null,
      downloads: this.downloads,
    });
    this.remove = deps.sessions.add(this);
  }

  /** Something happened, for whoever records the session. */
  tell(event: RecordingEvent): void {
    for (const recorder of this.recorders) recorder.tell(event);
  }

  /** What notes the requests of this browser in recordings of the session and of its job. */
  private noters(browser: LaneBrowser): NetworkWatch["listen"][] {
    const noted = { ...browser, facts: factsOf({ browser }) };
    return [...this.recorders].map(({ requests }) => requests.follow(noted));
  }

  browser(): LaneBrowser | null {
    return this.use?.browser ?? null;
  }

  /** What its recorders are not told yet: pages can notice who listens, so nobody does before the first call. */
  unheard(): string[] {
    return this.use?.hears ? [] : [...SAID_BY_PAGES];
  }

  /** Its tabs, oldest first; none while there is no browser. */
  tabs(): TabInfo[] {
    return this.use?.watch.tabs() ?? [];
  }

  /** The watch of the browser in use. @throws ActionFailure while there is none. */
  watch(): BrowserWatch {
    if (this.restarting !== null) throw browserStarting("the browser is restarting");
    return this.inUse().watch;
  }

  /**
   * Starts using a browser. `alone`: no recorder drives it, so this session handles downloads, URLs and dialogs;
   * otherwise it only listens, and must do so before the recorder attaches.
   */
  async attach(
    browser: LaneBrowser,
    { alone, only }: { alone: boolean; only?: JobTab },
  ): Promise<void> {
    const held = () => browser.gate?.wayOut().judge ?? this.guard;
    if (!only) this.clients.follow(browser.connection);
    const { options, http_login, blocking } = this.shown;
    if (!only && options) showPerson(browser, options, this.log);
    const watch = await watchBrowser({
      connection: browser.connection,
      alone,
      only: only ?? null,
      keeps_bodies: this.bodies !== null,
      http_login,
      blocks: blocking?.pause(browser.connection) ?? null,
      network: heardToo(
        this.network,
        ...this.noters(browser),
        this.hears_log ? hearLog((event) => this.tell(event)) : undefined,
      ),
      dialogs: this.dialogs,
      refusal: (url) => (/^(https?|wss?):/.test(url) ? held().refusalOfUrl(url) : null),
      // With a gate in between, nothing was sent to a refused address, and the reported address is the gate's.
      refusalOfAddress: (address, port) =>
        browser.gate === null ? this.guard.refusal(address, port) : null,
      onShown: (tab, { url, status }) =>
        this.tell({ type: "navigation", url, tab, ...(status !== null && { status }) }),
      onRefused: (url, reason) =>
        this.log.warn({ url: url.slice(0, 500), reason }, "a tab was sent away from a page"),
      onFlood: (message) => {
        this.log.warn({}, message);
        this.job?.story.log("warn", "browser", message);
      },
    });
    const { pages = null, hears = false } = this.use?.browser === browser ? this.use : {};
    this.use = { browser, watch, pages, hears, alone };
    // A foreign browser's downloads belong to its owner.
    if (!only) await this.downloads.start(browser, { alone });
    void browser.exited.then(({ code, signal }) => {
      // A job reports how its own browser ended.
      if (this.use?.browser === browser && this.use.alone && this.restarting === null)
        this.end(new SessionEnd(`the browser ended (${signal ?? `exit code ${code}`})`));
    });
  }

  /** The rules that apply to its browser now: the worker's, the session's, and those of the job that runs in it. */
  judge(): Judge {
    return this.browser()?.gate?.wayOut().judge ?? this.guard;
  }

  /** Whether there is a running browser that is this worker's own. */
  canGoOn(): boolean {
    return this.use !== null && !this.use.browser.connection.root.is_closed && !this.foreign;
  }

  /** While a job runs here, its own option decides about dialogs, and its log records what pages do to the browser. */
  ruleBy(job: RulingJob): void {
    this.job = job;
  }

  /** The recorder of the job that ran here is done: from now on this session drives the connection itself. */
  async takeOver(): Promise<void> {
    this.job = null;
    // What Playwright hears from now on has it.
    this.hears_log = false;
    if (this.signal.aborted) return;
    if (!this.canGoOn()) return this.end(new SessionEnd("the browser ended"));
    const { browser } = this.inUse();
    await this.dialogs.dismissAll();
    await browser.connection.startOver();
    await this.attach(browser, { alone: true });
  }

  /**
   * From now on the connection belongs to a recorder, until `takeOver`. @throws ActionFailure once the session has
   * ended.
   */
  async handOver(): Promise<LaneBrowser> {
    await this.restarting?.catch(() => {});
    const { browser } = this.inUse();
    await this.dialogs.dismissAll();
    await browser.connection.startOver();
    await this.attach(browser, { alone: false });
    return browser;
  }

  /** Takes a job in (`attach_to_job`), under the lane's new lease. @returns the reason why not, or null. */
  lend(job_id: string, lease_token: number): string | null {
    if (this.signal.aborted) return "the session has ended";
    if (this.lent || !this.use?.alone) return "a job runs in the session already";
    this.lent = true;
    this.job_id = job_id;
    this.lease_token = lease_token;
    return null;
  }

  giveBack(): void {
    this.lent = false;
  }

  /** Removes everything that was downloaded so far. */
  forgetDownloads(): void {
    this.downloads.forget();
  }

  activeTarget(): string | null {
    const tabs = this.use?.watch.tabs() ?? [];
    const known = tabs.find(({ target_id }) => target_id === this.target);
    return (known ?? tabs[0])?.target_id ?? null;
  }

  /** Whether the tab waits for a document. */
  isLoading(target_id: string): boolean {
    const loads = this.use?.watch.pendingLoads() ?? [];
    return loads.some((load) => load.target_id === target_id);
  }

  /** The documents that tabs are waiting for; none while there is no browser. */
  pendingLoads(): TabLoad[] {
    const active = this.activeTarget();
    const loads = this.use?.watch.pendingLoads() ?? [];
    return loads.map(({ target_id, ...load }) => ({ ...load, active: target_id === active }));
  }

  /** Makes a tab the one that actions go to. */
  async focus(target_id: string): Promise<void> {
    this.target = target_id;
    const pages = await this.use?.pages?.catch(() => null);
    await pages?.selectTarget(target_id);
  }

  /** Playwright on the browser in use; connected at the first call, and again when its socket was lost. */
  async pages(): Promise<Pages> {
    await this.restarting?.catch(() => {});
    const use = this.inUse();
    if (this.foreign)
      throw new ActionFailure("invalid", {
        name: "Error",
        message: "a job that is attached to somebody else's browser takes no actions",
      });
    use.pages ??= this.connect(use);
    const pages = await use.pages;
    // The last tab was closed for what it did, and its replacement has not opened yet.
    if (pages.all().length === 0)
      await pages.context.waitForEvent("page", { timeout: NEW_TAB_MS }).catch(() => {});
    return pages;
  }

  /** The active tab's location as the browser reports it, even when the page hangs. */
  async place(): Promise<Place | null> {
    if (!this.use || this.restarting !== null) return null;
    const { watch, pages } = this.use;
    const connected = await pages?.catch(() => null);
    this.target = (await connected?.activeTarget().catch(() => null)) ?? this.target;
    const target_id = this.activeTarget();
    const tab = target_id === null ? null : await watch.describe(target_id);
    return {
      url: (tab?.url ?? "").slice(0, MAX_URL),
      title: (tab?.title ?? "").slice(0, MAX_TITLE),
      tabs: watch.tabs().length,
      dialogs: listDialogs(this),
      ...(this.replay && { replay: this.replay.report() }),
      ...(this.shown.blocking && { blocked: this.shown.blocking.report() }),
    };
  }

  replaceBrowser(work: (browser: LaneBrowser) => Promise<LaneBrowser>): Promise<void> {
    if (this.restarting !== null)
      return Promise.reject(
        new ActionFailure("invalid", { name: "Error", message: "the browser is restarting" }),
      );
    this.restarting = this.swap(work).finally(() => {
      this.restarting = null;
    });
    return this.restarting;
  }

  /** Ends the session: nothing finds it any more. Idempotent; the caller releases the lane. */
  end(why: Error): void {
    if (this.over.signal.aborted) return;
    this.remove();
    this.over.abort(why);
    const pages = this.use?.pages;
    // The trace is read out of the connection before that is closed.
    void Promise.all([pages, this.trace?.end()]).then(
      ([p]) => p?.close(),
      () => {},
    );
    void this.replay?.close().catch((err) => this.log.error({ err }, "replay not closed"));
  }

  private inUse(): Use {
    if (this.use && !this.signal.aborted) return this.use;
    if (!this.signal.aborted) throw browserStarting("the browser is still starting");
    throw new ActionFailure("gone", { name: "Error", message: "the session has ended" });
  }

  private connect(use: Use): Promise<Pages> {
    const { browser } = use;
    const drop = () => {
      if (use.pages === connecting) Object.assign(use, { pages: null, hears: false });
    };
    const { viewport, trace } = this;
    const options = { viewport, target_id: this.activeTarget(), artifacts_dir: trace?.dir };
    const connecting = openPages(browser, options).then(async (pages) => {
      void pages.closed.then(drop);
      tellConsole(pages.context, (event) => this.tell(event));
      if (this.use?.pages === connecting) this.use.hears = true;
      await trace?.begin(pages.context);
      if (this.signal.aborted) void pages.close();
      return pages;
    });
    connecting.catch((err) => {
      this.log.warn({ err: errorMessage(err) }, "playwright not connected");
      drop();
    });
    return connecting;
  }

  private async swap(work: (browser: LaneBrowser) => Promise<LaneBrowser>): Promise<void> {
    const { browser, pages } = this.inUse();
    await this.dialogs.dismissAll();
    await pages?.then((p) => p.close()).catch(() => {});
    try {
      await this.attach(await work(browser), { alone: true });
    } catch (err) {
      this.end(new SessionEnd(`the browser did not start again: ${errorMessage(err)}`));
      throw err;
    }
  }
}

import { endsWithin, systemClock } from "#shared/kit/clock.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { AcceptedJob } from "#worker/browser/jobs/assignments.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { CdpSession } from "../cdp/connection.ts";
import { attachBrowser } from "../lanes/attach.ts";
import type { JobTab, LaneArchive, LaneBrowser } from "../lanes/lane-browser.ts";
import type { SeededProfile } from "../profile/profiles.ts";
import type { Live } from "../session/live.ts";

/** The browser a job runs in. */
export interface JobBrowser {
  browser: LaneBrowser;
  /** Null when only this job uses the browser. */
  tab: JobTab | null;
  /** Closes what the job has opened in a browser that is not its own, and leaves the rest unchanged. Never rejects. */
  leave(): Promise<void>;
}

/** What a browser of the lane's own is started on. */
export interface BrowserSources {
  profile: SeededProfile | null;
  /** Opens the capture that it shows; null: it shows the web. @throws ReplayError */
  replay: ((live: Live, story: JobStory) => Promise<LaneArchive>) | null;
}

/**
 * A plain browser or one with a profile, the browser of a live session (`attach_to_job`), or one that somebody else runs
 * (`attach`): rules/job-options#one-source-of-the-browser. The session's viewer and actions work on it from here on.
 * @throws Error with a message for the job
 */
export function takeBrowser(
  job: AcceptedJob,
  options: JobOptions,
  live: Live,
  { profile, replay }: BrowserSources,
  story: JobStory,
  onStage: (stage: string) => void,
): Promise<JobBrowser> {
  live.ruleBy({ dialog_policy: options.dialog_policy, story });
  if (job.attached) return borrowBrowser(live, story);
  if (options.attach !== null) return foreignBrowser(job, options, live, story, onStage);
  return ownBrowser(job, options, live, { profile, replay }, story, onStage);
}

async function ownBrowser(
  { hold }: AcceptedJob,
  options: JobOptions,
  live: Live,
  { profile, replay }: BrowserSources,
  story: JobStory,
  onStage: (stage: string) => void,
): Promise<JobBrowser> {
  const { headless } = options;
  const archive = (await replay?.(live, story)) ?? null;
  const browser = await hold.browser({
    headless,
    archive,
    ignore_https_errors: live.shown.ignore_https_errors,
    certificate_authorities: live.shown.certificate_authorities,
    ...(profile ? { seed: profile.seed } : {}),
  });
  story.log("info", "lane", `${browser.product} is ready on lane ${hold.lane_idx}`, {
    headless: browser.headless,
    sandbox: browser.sandbox,
  });
  onStage("profile");
  await profile?.settle(browser, (level, message, fields) =>
    story.log(level, "profile", message, fields),
  );
  await live.attach(browser, { alone: false });
  return { browser, tab: null, leave: async () => {} };
}

async function borrowBrowser(live: Live, story: JobStory): Promise<JobBrowser> {
  const browser = await live.handOver();
  const tab = await openTab(browser, true);
  story.log("info", "lane", `runs in a new tab of session ${live.session_id.slice(0, 4)}…`, {
    lane_idx: live.lane_idx,
  });
  return {
    browser,
    tab,
    leave: async () => {
      await tab.close();
      await live.takeOver();
    },
  };
}

async function foreignBrowser(
  { hold }: AcceptedJob,
  options: JobOptions,
  live: Live,
  story: JobStory,
  onStage: (stage: string) => void,
): Promise<JobBrowser> {
  const address = options.attach ?? "";
  onStage("attach");
  // The lane's own browser stays idle; the run uses its directories.
  const own = await hold.browser({ headless: options.headless });
  const browser = await attachBrowser(address, own.dirs, live.guard);
  story.log("info", "attach", `attached to ${browser.product} at ${address}`);
  try {
    const tab = await openTab(browser, false);
    live.foreign = true;
    await live.attach(browser, { alone: false, only: tab });
    return {
      browser,
      tab,
      leave: async () => {
        await tab.close();
        await browser.kill();
      },
    };
  } catch (err) {
    await browser.kill();
    throw err;
  }
}

interface OpenTab extends JobTab {
  /** Closes it and every tab that was opened from it. Never rejects. */
  close(): Promise<void>;
}

/** Opens a new blank tab and tracks what it opens from then on. */
async function openTab({ connection }: LaneBrowser, downloads: boolean): Promise<OpenTab> {
  const { root } = connection;
  const { targetId: target_id } = await root.send("Target.createTarget", { url: "about:blank" });
  const owned = new Set([target_id]);
  return {
    target_id,
    downloads,
    owns: ({ targetId, openerId }) => {
      if (openerId !== undefined && owned.has(openerId)) owned.add(targetId);
      return owned.has(targetId);
    },
    close: async () => {
      await Promise.all([...owned].map((target_id) => closeTab(root, target_id)));
    },
  };
}

/** A tab whose renderer hangs is closed by force, which takes Chromium longer than others. */
const CLOSED_MS = 5_000;

/**
 * Chromium answers `Target.closeTarget` before the tab is gone, and until then whoever lists the tabs finds it. Never
 * rejects.
 */
async function closeTab(root: CdpSession, target_id: string): Promise<void> {
  const gone = Promise.withResolvers<void>();
  const stop = root.on("Target.targetDestroyed", ({ targetId }) => {
    if (targetId === target_id) gone.resolve();
  });
  const { success } = await root
    .send("Target.closeTarget", { targetId: target_id })
    .catch(() => ({ success: false }));
  if (success) await endsWithin(systemClock, CLOSED_MS, Promise.race([gone.promise, root.closed]));
  stop();
}

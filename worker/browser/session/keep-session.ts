import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { HubOpenSession } from "#shared/protocol/link/messages.ts";
import type { ProfileRef } from "#shared/protocol/schema/profile.ts";
import { ReplayError } from "#worker/replay/from-hub.ts";
import type { Replays } from "#worker/replay/replays.ts";
import { type ActionFailure, failureOf } from "../actions/failure.ts";
import { openFirst } from "../actions/navigate.ts";
import { describeNetError, shortUrl } from "../fetch/net-errors.ts";
import { holdTo } from "../fetch/way-out.ts";
import type { LaneArchive, LaneBrowser } from "../lanes/lane-browser.ts";
import { ProfileError } from "../profile/cache.ts";
import type { SeededProfile } from "../profile/profiles.ts";
import type { Traces } from "../trace/traces.ts";
import type { CallDeps } from "./calls.ts";
import type { SessionLink } from "./link.ts";
import { type Live, SessionEnd } from "./live.ts";
import { showReplay } from "./show-replay.ts";

export interface KeepDeps extends Pick<CallDeps, "refusal" | "hubFiles"> {
  log: Log;
  replays: Replays;
  /** Puts a profile into a new browser (rules/profiles#profile-of-a-run). */
  profileFor(link: SessionLink, profile: ProfileRef, signal: AbortSignal): SeededProfile;
  traces: Traces;
}

/**
 * A page that does not answer must be reported before the hub stops waiting (60 s, including the start of a
 * browser).
 */
const OPEN_PAGE_MS = 30_000;

const MAX_REASON = 3_000;

/**
 * Runs a session from start to end: its lane is already taken, and is released whatever happens.
 * @param onReleasing called when the session is over and its lane is about to be released
 */
export async function keepSession(
  deps: KeepDeps,
  link: SessionLink,
  message: HubOpenSession,
  live: Live,
  onReleasing: () => void,
): Promise<void> {
  const { session_id, lease_token } = message;
  const linkLost = () => live.end(new SessionEnd("the link to the hub was lost"));
  link.signal.addEventListener("abort", linkLost, { once: true });
  if (link.signal.aborted) linkLost();
  try {
    const refusal = await openPage(deps, link, message, live);
    if (refusal) {
      link.send({ type: "SessionRefused", session_id, lease_token, ...refusal });
      live.end(new SessionEnd(refusal.reason));
      return;
    }
    const place = await live.place();
    if (live.signal.aborted) throw live.signal.reason;
    const { url = "about:blank", title = "" } = place ?? {};
    link.send({ type: "SessionOpened", session_id, lease_token, url, title });
    deps.log.info({ session_id, lane_idx: live.lane_idx }, "session opened");
    await live.ended;
    link.send({
      type: "SessionEnded",
      session_id,
      lease_token: live.lease_token,
      reason: errorMessage(live.signal.reason).slice(0, 1_000),
    });
  } catch (err) {
    const reason = errorMessage(err).slice(0, 4_096);
    // Another lane would not help with a profile, or with a capture.
    const kind = err instanceof ProfileError || err instanceof ReplayError ? "page" : "lane";
    link.send({ type: "SessionRefused", session_id, lease_token, kind, reason });
    live.end(new SessionEnd(reason));
  } finally {
    link.signal.removeEventListener("abort", linkLost);
    deps.log.info(
      { session_id, lane_idx: live.lane_idx, reason: errorMessage(live.signal.reason) },
      "session ended",
    );
    await Promise.all([deps.traces.storeSession(live, link), live.bodies?.close()]);
    onReleasing();
    await live.hold.release();
  }
}

/**
 * The browser, Playwright on it, and the first page. @returns why the page cannot be opened. @throws when the lane
 * is at fault.
 */
async function openPage(
  deps: KeepDeps,
  link: SessionLink,
  message: HubOpenSession,
  live: Live,
): Promise<{ kind: "page"; reason: string } | null> {
  const { url, headless, profile } = message;
  const seeded = profile && deps.profileFor(link, profile, live.signal);
  const stopped = live.ended.then(() => Promise.reject(live.signal.reason));
  stopped.catch(() => {});
  const work = async () => {
    const archive = await archiveOf(deps, link, message, live);
    const browser = await live.hold.browser({
      headless,
      archive,
      ignore_https_errors: live.shown.ignore_https_errors,
      certificate_authorities: live.shown.certificate_authorities,
      ...(seeded && { seed: seeded.seed }),
    });
    narrow(deps, message, live, browser);
    await live.attach(browser, { alone: true });
    await seeded?.settle(browser, (level, text, fields) =>
      deps.log[level]({ session_id: live.session_id, ...fields }, text),
    );
    const pages = await live.pages();
    if (url === null || url === "about:blank") return null;
    const reason = archive ? null : await refusalOf(deps, message, live, url);
    if (reason !== null)
      return { kind: "page" as const, reason: `refused to open ${url}: ${reason}` };
    try {
      await orDialog(live, openFirst(pages.active(), url, OPEN_PAGE_MS));
      return null;
    } catch (err) {
      return { kind: "page" as const, reason: whyNotOpened(live, url, failureOf(err)) };
    }
  };
  return Promise.race([work(), stopped]);
}

/** Opens the capture that the session shows; null: it shows the web. */
async function archiveOf(
  { log, hubFiles, replays }: KeepDeps,
  link: SessionLink,
  { replay: job_id, replay_clock }: HubOpenSession,
  live: Live,
): Promise<LaneArchive | null> {
  const { session_id } = live;
  if (!job_id) return null;
  const onMissed = (method: string, url: string, reason: string) =>
    log.debug(
      { session_id, method, url: url.slice(0, 500), reason },
      "not in the replayed capture",
    );
  const clock = replay_clock ?? "now";
  return showReplay(live, replays, { job_id, clock, hub: hubFiles(link), onMissed });
}

async function refusalOf(
  deps: KeepDeps,
  { egress }: HubOpenSession,
  { guard }: Live,
  url: string,
): Promise<string | null> {
  return (await deps.refusal(url)) ?? (egress === null ? null : await guard.checkUrl(url));
}

/** The gate applies this until the lane changes hands, even when the browser is restarted. */
function narrow(
  { log }: KeepDeps,
  message: HubOpenSession,
  { guard }: Live,
  browser: LaneBrowser,
): void {
  const { session_id, egress, proxy } = message;
  if (egress === null && proxy === null) return;
  const onRefused = (place: string, reason: string) =>
    log.debug({ session_id, place, reason }, "refused to connect to a place");
  holdTo(browser, { judge: guard, onRefused }, message);
}

/** A page that opens a dialog before it has loaded counts as open: the session shows the dialog. */
async function orDialog(live: Live, opened: Promise<void>): Promise<void> {
  const target_id = live.activeTarget();
  if (target_id === null) return opened;
  const over = new AbortController();
  opened.catch(() => {});
  await Promise.race([opened, live.dialogs.nextWaiting(target_id, over.signal)]).finally(() =>
    over.abort(),
  );
}

function whyNotOpened(live: Live, url: string, { kind, message }: ActionFailure): string {
  if (kind === "timeout")
    return `could not open ${shortUrl(url)}: no answer within ${OPEN_PAGE_MS / 1_000} s: check that the worker can reach it`;
  const net_error = /net::ERR_\w+/.exec(message)?.[0];
  const failed_url = live.network.lastFailure()?.url ?? url;
  return net_error === undefined
    ? `could not open ${shortUrl(url)}: ${message.slice(0, MAX_REASON)}`
    : describeNetError(net_error, failed_url, live.browser()?.gate ?? null);
}

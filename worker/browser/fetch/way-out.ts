import type { EgressOption } from "#shared/protocol/egress.ts";
import type { RunExtras } from "#shared/protocol/link/messages.ts";
import { parseRules } from "#worker/egress/egress.ts";
import type { Narrowed, Narrowing } from "#worker/egress/gate.ts";
import { bothJudges, createJudge, type Judge } from "#worker/egress/judge.ts";
import { upstreamOf } from "#worker/egress/upstream-of.ts";
import type { JobRun, LaneBrowser } from "../lanes/lane-browser.ts";
import type { NetworkFacts } from "../record/trace-entry.ts";
import type { FetchSettings } from "./fetch-context.ts";
import { trueNetError } from "./net-errors.ts";

/** What the worker allows, narrowed by the options of a job or a session. */
export function narrowedBy(egress: EgressOption | null, judge: Judge): Judge {
  if (egress === null) return judge;
  const { mode, allow, deny } = egress;
  const rules = { allow: parseRules(allow), deny: parseRules(deny), ...(mode && { mode }) };
  return bothJudges(judge, createJudge({ ...rules, navigation_block: [], own_ports: [] }));
}

/** Where a capture answers nothing is connected to, and the gate's judge, which then allows all, is the only one. */
export const judgeOf = (
  { options, browser }: Pick<JobRun, "options" | "browser">,
  { judge }: Pick<FetchSettings, "judge">,
): Judge =>
  browser.archive && browser.gate ? browser.gate.wayOut().judge : narrowedBy(options.egress, judge);

/** Applies these rules to a browser and routes it through this proxy; null in a browser without a gate. */
export const holdTo = (
  { gate }: Pick<LaneBrowser, "gate">,
  rules: Pick<Narrowing, "judge" | "onRefused">,
  { proxy, proxy_of }: Pick<RunExtras, "proxy" | "proxy_of">,
): Narrowed | null =>
  gate?.narrow({
    ...rules,
    ...(proxy && { upstream: upstreamOf(proxy, { trusted: proxy_of === "host" }) }),
  }) ?? null;

export interface NarrowedRun extends Narrowed {
  /** The run is over. */
  over(): void;
}

/**
 * Applies the run's own rules and proxy to its browser. In a browser that belongs to the run alone they outlast the
 * run, for a session that is kept; in a shared one they end with it. Null in a browser without a gate.
 */
export function narrowFor(run: JobRun, judge: Judge): NarrowedRun | null {
  const { browser, extras, tab, story } = run;
  const narrowed = holdTo(browser, { judge, onRefused: tellRefusals(run) }, extras);
  if (narrowed === null) return null;
  if (extras.proxy)
    story.log("info", "network", `goes out through the proxy ${extras.proxy.server}`);
  const over = () => {
    narrowed.quiet();
    if (tab !== null) narrowed.end();
  };
  return {
    get bytes() {
      return narrowed.bytes;
    },
    quiet: narrowed.quiet,
    end: narrowed.end,
    over,
  };
}

/** A page that tries every port must not fill the log. */
const MAX_REFUSALS_TOLD = 50;

/** Logs once each place that the browser was not allowed to connect to. */
function tellRefusals({ story }: JobRun): (place: string, reason: string) => void {
  const told = new Set<string>();
  return (place, reason) => {
    if (told.has(place) || told.size > MAX_REFUSALS_TOLD) return;
    told.add(place);
    if (told.size > MAX_REFUSALS_TOLD)
      story.log(
        "warn",
        "network",
        `refused more than ${MAX_REFUSALS_TOLD} places; the others are not logged`,
      );
    else story.log("warn", "network", `refused to connect to ${place}: ${reason}`);
  };
}

/**
 * What the browser's gate knows about its network; null in a browser without a gate. Chromium does not report its
 * local port, so a connection is identified by its first answer: it goes where the place's latest connection went at
 * that time, and stays there even when a later one has to go elsewhere.
 */
export function factsOf({ browser: { gate } }: Pick<JobRun, "browser">): NetworkFacts | null {
  if (gate === null) return null;
  const addresses = new Map<number, string>();
  return {
    addressOf: (url, connection_id) => {
      const known = addresses.get(connection_id);
      if (known !== undefined) return known;
      const address = gate.addressOf(url);
      // 0 means that Chromium reports no number.
      if (address !== null && connection_id > 0) addresses.set(connection_id, address);
      return address;
    },
    explain: (error_text, url) => trueNetError(error_text, url, gate),
  };
}

import type { EgressOption } from "#shared/protocol/egress.ts";
import type { RunExtras } from "#shared/protocol/link/messages.ts";
import { parseRules } from "#worker/egress/egress.ts";
import type { Narrowed, Narrowing } from "#worker/egress/gate.ts";
import { bothJudges, createJudge, type Judge } from "#worker/egress/judge.ts";
import { upstreamOf } from "#worker/egress/upstream-of.ts";
import type { JobRun, LaneBrowser } from "../lanes/types.ts";
import type { NetworkFacts } from "../record/trace.ts";
import type { FetchSettings } from "./fetch-context.ts";
import { trueNetError } from "./net-errors.ts";

/** What the worker allows, narrowed by what a job or a session says. */
export function narrowedBy(egress: EgressOption | null, judge: Judge): Judge {
  if (egress === null) return judge;
  const { mode, allow, deny } = egress;
  const rules = { allow: parseRules(allow), deny: parseRules(deny), ...(mode && { mode }) };
  return bothJudges(judge, createJudge({ ...rules, navigation_block: [], own_ports: [] }));
}

export const judgeOf = (
  { options }: Pick<JobRun, "options">,
  { judge }: Pick<FetchSettings, "judge">,
): Judge => narrowedBy(options.egress, judge);

/** Holds a browser to these rules, and sends it out through this proxy; null in a browser without a gate. */
export const holdTo = async (
  { gate }: Pick<LaneBrowser, "gate">,
  rules: Pick<Narrowing, "judge" | "onRefused" | "onBroken">,
  { proxy, proxy_of }: Pick<RunExtras, "proxy" | "proxy_of">,
): Promise<Narrowed | null> =>
  (await gate?.narrow({
    ...rules,
    ...(proxy && { upstream: upstreamOf(proxy, { trusted: proxy_of === "host" }) }),
  })) ?? null;

export interface NarrowedRun extends Narrowed {
  /** The run is over. */
  over(): void;
}

/**
 * Holds the browser of a run to the run's own rules and proxy. In a browser that is the run's alone that goes on after it,
 * for a session that is kept; in one that others use it ends with the run. Null in a browser without a gate.
 */
export async function narrowFor(run: JobRun, judge: Judge): Promise<NarrowedRun | null> {
  const { browser, extras, tab, story } = run;
  const onBroken = () =>
    story.log(
      "error",
      "network",
      "the egress gate broke and is opened again: what was loading is lost",
    );
  const narrowed = await holdTo(browser, { judge, onRefused: tellRefusals(run), onBroken }, extras);
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

/** Tells each place once that the browser was not let out to. */
export function tellRefusals({ story }: JobRun): (place: string, reason: string) => void {
  const told = new Set<string>();
  return (place, reason) => {
    if (told.has(place) || told.size > MAX_REFUSALS_TOLD) return;
    told.add(place);
    if (told.size > MAX_REFUSALS_TOLD)
      story.log(
        "warn",
        "network",
        `refused more than ${MAX_REFUSALS_TOLD} places; the others are not told`,
      );
    else story.log("warn", "network", `refused to connect to ${place}: ${reason}`);
  };
}

/**
 * What the gate of its browser knows of its network; null in a browser without one. Chromium does not say from which port it
 * came, so that a connection is known by its first answer: it goes where the place's latest connection went then, and stays
 * there, also when a later one has to go elsewhere.
 */
export function factsOf({ browser: { gate } }: Pick<JobRun, "browser">): NetworkFacts | null {
  if (gate === null) return null;
  const addresses = new Map<number, string>();
  return {
    addressOf: (url, connection_id) => {
      const known = addresses.get(connection_id);
      if (known !== undefined) return known;
      const address = gate.addressOf(url);
      // 0: Chromium tells no number.
      if (address !== null && connection_id > 0) addresses.set(connection_id, address);
      return address;
    },
    explain: (error_text, url) => trueNetError(error_text, url, gate),
  };
}

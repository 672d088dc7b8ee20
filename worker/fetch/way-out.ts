import { parseRules } from "#worker/egress/egress.ts";
import { bothJudges, createJudge, type Judge } from "#worker/egress/judge.ts";
import type { JobRun } from "../lanes/types.ts";
import type { NetworkFacts } from "../record/trace.ts";
import { trueNetError } from "./net-errors.ts";
import type { FetchSettings } from "./run-visit.ts";

/** What the worker allows, narrowed by the job's own options. */
export function judgeOf({ options }: Pick<JobRun, "options">, { judge }: FetchSettings): Judge {
  const { egress } = options;
  if (egress === null) return judge;
  const { mode, allow, deny } = egress;
  const lists = { allow: parseRules(allow), deny: parseRules(deny) };
  return bothJudges(judge, createJudge({ mode, ...lists, navigation_block: [], own_ports: [] }));
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

/** What the gate of its browser knows of its network; null in a browser without one. */
export const factsOf = ({ browser: { gate } }: JobRun): NetworkFacts | null =>
  gate && {
    addressOf: gate.addressOf,
    explain: (error_text, url) => trueNetError(error_text, url, gate),
  };

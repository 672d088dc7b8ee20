import { isoTime } from "#shared/kit/clock.ts";
import { WORKER_LOST_ERROR } from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "./worker-link.ts";

/** The error of a job whose worker went away (rules/jobs#lost-workers): what happened, to which worker, and when. */
export const lostError = (cause: string): string => `${WORKER_LOST_ERROR}: ${cause}`;

/** Why a link ended for good, for the jobs that ran on it. */
export type LossCause =
  | "silent"
  | "restarted"
  | "anew"
  | "moved"
  | "closed"
  | "stopping"
  | "broken";

/** One clause that names the worker and a time. */
export function causeOf(
  ctx: Pick<FleetContext, "clock" | "config">,
  link: WorkerLink,
  why: LossCause,
  reason: string,
): string {
  const worker = `worker ${link.worker_id}`;
  const now = isoTime(ctx.clock.now());
  const heard = `it was heard of last at ${isoTime(link.last_heartbeat_at)}`;
  switch (why) {
    case "silent":
      return `${worker} sent no heartbeat for 120 s; ${heard}`;
    case "restarted":
      return `${worker} was started anew at ${now}, and what its process of before ran is gone; ${heard}`;
    case "anew":
      return `${worker} linked anew at ${now} and could not go on where it was; ${heard}`;
    case "moved":
      return `${worker} linked to another hub at ${now}`;
    case "stopping":
      return `the hub that held the link of ${worker} stopped at ${now}`;
    case "closed":
      return `${worker} closed its link at ${now} (${reason})`;
    case "broken":
      return link.cut
        ? `the link to ${worker} was cut at ${isoTime(link.cut.at)} (${link.cut.reason}), and it was not back within ` +
            `${ctx.config.link_grace_ms / 1_000} s`
        : `the link to ${worker} broke at ${now} (${reason})`;
    default:
      return why satisfies never;
  }
}

import { AppError, type Issue, invalid } from "#shared/kit/errors.ts";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";
import type { EgressOption } from "#shared/protocol/egress.ts";
import { type EgressReport, widerThan } from "#shared/protocol/egress-cover.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import {
  lackOf,
  type SomeBrowserOptions,
  unknownOptions,
} from "#shared/protocol/schema/browser-options.ts";
import type { ReplayClock } from "#shared/protocol/schema/replay.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import type { WorkerListContext } from "./link-contexts.ts";
import { ableWorkers } from "./shortage.ts";
import { listWorkers } from "./view.ts";

/** What a job or a session says about where it may go, with `replay` nowhere, and what its worker must be able to do. */
export interface WayOut extends SomeBrowserOptions {
  egress: EgressOption | null;
  proxy: ProxyOption | null;
  /** Absent in jobs of an earlier version. */
  replay?: string | null;
  replay_clock?: ReplayClock;
  prove_in_replay?: boolean;
  trace?: boolean;
  /** Of a session: its bodies are to be kept. */
  capture?: boolean;
  /** It is a one-shot call. */
  one_shot?: boolean;
  /** A WebDriver client is to steer it. */
  webdriver?: boolean | undefined;
}

interface Reporting {
  worker_id: string;
  capabilities: {
    egress?: EgressReport | null | undefined;
    replay?: boolean | null | undefined;
    replay_clock?: boolean | null | undefined;
    prove_in_replay?: boolean | null | undefined;
    trace?: boolean | null | undefined;
    session_bodies?: boolean | null | undefined;
    one_shot?: boolean | null | undefined;
    webdriver?: boolean | null | undefined;
    browser_options?: readonly string[] | null | undefined;
  };
}

/** Null in versions before WebDriver. */
const withoutDriver = (worker_id: string, can: boolean | null | undefined): string =>
  can === false
    ? `worker ${worker_id} has no chromedriver: install ${LANE_PACKAGES.webdriver.join(" ")} there, and restart it`
    : `worker ${worker_id} is of a version that cannot do it`;

/** Why this worker's lanes would not go where the job asks; null when they would. */
function wayOutTrouble(
  { worker_id, capabilities: { egress: has, ...can } }: Reporting,
  { egress, proxy, replay = null, replay_clock, ...more }: WayOut,
): string | null {
  const too_old = `worker ${worker_id} is of a version that cannot do it`;
  const { trace = false, capture = false, prove_in_replay = false, one_shot = false } = more;
  if (one_shot && !can.one_shot) return too_old;
  if (more.webdriver && !can.webdriver) return withoutDriver(worker_id, can.webdriver);
  const unknown = unknownOptions(more, can.browser_options ?? []);
  if (unknown.length > 0) return lackOf(worker_id, unknown);
  if (prove_in_replay && !can.prove_in_replay) return too_old;
  if ((trace && !can.trace) || (capture && !can.session_bodies)) return too_old;
  if (replay !== null)
    return can.replay && (can.replay_clock || replay_clock !== "capture") ? null : too_old;
  if (egress === null && proxy === null) return null;
  if (!has) return too_old;
  const wider = egress && widerThan(has, egress);
  return wider && `worker ${worker_id} ${wider}`;
}

const needsAbility = (asked: WayOut): boolean => {
  const { replay, trace, capture, prove_in_replay, one_shot, webdriver } = asked;
  const needed = [trace, capture, prove_in_replay, one_shot, webdriver];
  return Boolean(replay) || needed.includes(true) || unknownOptions(asked, []).length > 0;
};

/** Which workers may get the job or session; null when any may. */
export const wayOutFits = (asked: WayOut): ((worker: Reporting) => boolean) | null =>
  asked.egress === null && asked.proxy === null && !needsAbility(asked)
    ? null
    : (worker) => wayOutTrouble(worker, asked) === null;

/** Those of these workers on which it may run. */
export const thoseFor = (workers: readonly Worker[], asked: WayOut): readonly Worker[] => {
  const fits = wayOutFits(asked);
  return fits ? workers.filter(fits) : workers;
};

/**
 * @throws AppError invalid when there are workers and none lets a lane go where the job asks: silently narrowing the job
 *   would make it a different one
 */
export async function requireWayOut(
  ctx: WorkerListContext,
  asked: WayOut,
  { loc = ["body", "options"], only = null }: { loc?: Issue["loc"]; only?: string | null } = {},
): Promise<void> {
  if (wayOutFits(asked) === null) return;
  const workers = ableWorkers(await listWorkers(ctx)).filter(
    ({ worker_id }) => only === null || worker_id === only,
  );
  const troubles = workers.map((worker) => wayOutTrouble(worker, asked));
  if (troubles.length === 0 || troubles.includes(null)) return;
  const named = troubles.slice(0, 3).join("; ");
  if (asked.one_shot && !workers.some(({ capabilities }) => capabilities.one_shot))
    throw new AppError("unavailable", `one-shot calls are not possible: ${named}`);
  if (asked.webdriver && !workers.some(({ capabilities }) => capabilities.webdriver))
    throw new AppError("unavailable", `WebDriver is not possible: ${named}`);
  const proves = workers.some(({ capabilities }) => capabilities.prove_in_replay);
  if (asked.prove_in_replay && !proves)
    throw invalid([...loc, "prove_in_replay"], `is not possible: ${named}`);
  const traces = workers.some(({ capabilities }) => capabilities.trace);
  if (asked.trace && !traces) throw invalid([...loc, "trace"], `is not possible: ${named}`);
  const keeps = workers.some(({ capabilities }) => capabilities.session_bodies);
  if (asked.capture && !keeps) throw invalid([...loc, "capture"], `is not possible: ${named}`);
  const unknown = workers.map(({ capabilities }) =>
    unknownOptions(asked, capabilities.browser_options ?? []),
  );
  const [option] = unknown.every((names) => names.length > 0) ? (unknown[0] ?? []) : [];
  if (option) throw invalid([...loc, option], `is not possible: ${named}`);
  if (asked.replay) {
    const field = workers.some(({ capabilities: { replay } }) => replay)
      ? "replay_clock"
      : "replay";
    throw invalid([...loc, field], `is not possible: ${named}`);
  }
  const field = asked.egress === null ? "proxy" : "egress";
  throw invalid([...loc, field], `is wider than what any worker allows: ${named}`, "too_wide");
}

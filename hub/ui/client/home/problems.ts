import { counted } from "#shared/kit/words.ts";
import type { FleetProblem } from "#shared/protocol/schema/figures.ts";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import type { Supervision } from "#shared/protocol/schema/supervisor.ts";
import { workersHref, workloadHref } from "../lib/links.ts";
import { countText } from "../lib/units.ts";
import type { WorkloadState } from "../pipeline/overview/problems.ts";
import * as to from "./links.ts";

/** What is broken, why, since when, and the one thing that helps (rules/web-app#home). */
export interface HomeProblem {
  key: string;
  icon: "broken" | "login" | "disk" | "worker" | "host" | "queue" | "paused";
  severity: "bad" | "warn";
  title: string;
  /** Its cause, which continues the title. */
  detail: string;
  note: string | null;
  since: string | null;
  action: HomeAction;
}

/** A page to go to, a worker to make active, or a page to open in a session where a person takes over. */
type HomeAction =
  | { label: string; href: string }
  | { label: string; activate: string }
  | { label: string; drive: string };

type Told = Pick<HomeProblem, "icon" | "title" | "action">;

function ofWorkers(worker_id: string | null, kind: FleetProblem["kind"]): Told {
  const see = { label: "See workers", href: workersHref("browser") };
  const this_one = {
    label: "See the worker",
    href: workersHref("browser", { worker: worker_id ?? undefined }),
  };
  const name = worker_id === null ? "A worker" : `Worker ${worker_id}`;
  switch (kind) {
    case "no_worker":
      return { icon: "worker", title: "No browser worker is connected", action: see };
    case "workers_paused":
      return {
        icon: "paused",
        title: "No browser worker takes captures",
        action:
          worker_id === null ? see : { label: `Make ${worker_id} active`, activate: worker_id },
      };
    case "worker_gone":
      return { icon: "worker", title: `${name} is gone`, action: this_one };
    case "worker_disk":
      return { icon: "disk", title: `${name} runs out of disk`, action: this_one };
    default:
      return {
        icon: "worker",
        title: worker_id === null ? "No lane works" : `${name} has lanes out of service`,
        action: worker_id === null ? see : this_one,
      };
  }
}

/** What the fleet says of itself, in words with the one action. */
function told({ kind, subject, url }: FleetProblem): Told {
  const name = subject ?? "";
  switch (kind) {
    case "login_needed":
      return {
        icon: "login",
        title: `${name} asks for a login`,
        action: { label: "Take over", drive: url ?? `https://${name}/` },
      };
    case "host_failing":
      return {
        icon: "host",
        title: `Captures of ${name} are failing`,
        action: { label: "See captures", href: to.capturesHref({ host: name }) },
      };
    case "hub_disk":
      return {
        icon: "disk",
        title: "The hub runs out of disk",
        action: { label: "Keep less", href: to.settingsHref },
      };
    case "store":
      return {
        icon: "disk",
        title: `The hub's ${name} does not work`,
        action: { label: "What to do", href: "/guide/how-to/troubleshooting" },
      };
    case "retention":
      return {
        icon: "disk",
        title: "Old files cannot be deleted",
        action: { label: "What to do", href: "/guide/how-to/troubleshooting" },
      };
    case "queue_waits":
      return {
        icon: "queue",
        title: "Captures have been waiting a long time",
        action: { label: "See the queue", href: to.capturesHref({ status: "queued" }) },
      };
    default:
      return ofWorkers(subject, kind);
  }
}

const fleetProblem = (one: FleetProblem): HomeProblem => ({
  key: `${one.kind} ${one.subject ?? ""}`,
  severity: one.severity,
  detail: one.detail,
  note: null,
  since: one.since,
  ...told(one),
});

/** Of a workload of whose last runs more than half failed. */
const FAILING_WEIGHT = 150;

const SEEN: Record<string, string> = {
  no_worker: "no running worker is allowed to run it",
  dead_instances: "the instances that should run it are dead",
  broken_executor: "its code does not load",
  stuck: "its workers are idle and run nothing",
};

/** One that is paused waits for a person; what else the supervisor sees it tries to mend. */
function supervisedProblem(one: Supervision, waiting: string | null): HomeProblem | null {
  const { workload, paused_at, problem, reason } = one;
  if (paused_at === null && problem === null) return null;
  const paused = paused_at !== null;
  return {
    key: `workload ${workload}`,
    icon: paused ? "paused" : "broken",
    severity: paused || problem === "no_worker" ? "bad" : "warn",
    title: paused ? `Workload ${workload} is paused` : `Workload ${workload} does not run`,
    detail: reason ?? SEEN[problem ?? ""] ?? problem ?? "by the supervisor",
    note: waiting,
    since: paused_at,
    action: { label: "See the workload", href: workloadHref(workload) },
  };
}

/** Runs that fail, leases that end and tasks that wait: nothing that stops it, but somebody should look. */
const stateProblem = ({ slug, problems, weight, unserved }: WorkloadState): HomeProblem => ({
  key: `workload ${slug}`,
  icon: "queue",
  severity: weight >= FAILING_WEIGHT ? "bad" : "warn",
  title: `Workload ${slug} ${unserved ? "does not run" : "needs attention"}`,
  detail: problems.join("; "),
  note: null,
  since: null,
  action: { label: "See the workload", href: workloadHref(slug) },
});

/** Problems of both halves, the worst first. */
export function problemsOf(
  fleet: readonly FleetProblem[],
  overview: Pick<DashboardOverview, "problems" | "supervised" | "queue_depths"> | undefined,
  states: readonly WorkloadState[] = [],
): HomeProblem[] {
  const waitingFor = (workload: string) => {
    const pending = overview?.queue_depths.find((one) => one.workload === workload)?.pending ?? 0;
    if (pending === 0) return null;
    return `${countText(pending)} ${pending === 1 ? "task waits" : "tasks wait"}`;
  };
  const broken = (overview?.problems ?? []).map(
    ({ workload, message, since, workers }): HomeProblem => ({
      key: `workload ${workload}`,
      icon: "broken",
      severity: "bad",
      title: `Workload ${workload} is broken`,
      detail: message,
      note: waitingFor(workload) ?? `on ${counted(workers.length, "worker")}`,
      since,
      action: { label: "See traceback", href: workloadHref(workload) },
    }),
  );
  const said = new Set(broken.map(({ key }) => key));
  const supervised = (overview?.supervised ?? []).flatMap(
    (one) => supervisedProblem(one, waitingFor(one.workload)) ?? [],
  );
  for (const { key } of supervised) said.add(key);
  const others = states.filter(({ weight }) => weight > 0).map(stateProblem);
  const all = [
    ...broken,
    ...supervised.filter(({ key }) => !broken.some((one) => one.key === key)),
    ...others.filter(({ key }) => !said.has(key)),
    ...fleet.map(fleetProblem),
  ];
  const rank = ({ severity }: HomeProblem) => (severity === "bad" ? 0 : 1);
  return all.sort((a, b) => rank(a) - rank(b));
}

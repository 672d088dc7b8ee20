import type { CallOf } from "#shared/client/http.ts";
import type { Args, JsonOperation } from "#shared/client/operation.ts";
import type { SearchHit } from "#shared/protocol/schema/search.ts";
import type { Role } from "#shared/protocol/schema/token.ts";
import { type Asked, call, withQuery } from "../lib/http.ts";
import {
  hostHref,
  jobHref,
  sessionHref,
  watchHref,
  workersHref,
  workloadHref,
} from "../lib/links.ts";
import { mayDo, type WhoIAm } from "../lib/logins.ts";

/** What somebody can do with a thing that was found. */
export interface HitAction {
  /** By which it is asked for: "cancel 4711". */
  verb: string;
  /** "Cancel job" */
  label: string;
  /** Asked first, where it ends something. */
  question?: string;
  /** "The job is cancelled" */
  done: string;
  /** The lowest role that may call the operation. */
  needs: Role;
  operation: JsonOperation;
  run: () => Promise<unknown>;
}

export const KIND_NAMES: Record<SearchHit["kind"], string> = {
  job: "Capture",
  session: "Session",
  worker: "Browser worker",
  host: "Host",
  profile: "Profile",
  watch: "Schedule",
  preset: "Preset",
  skill: "Skill",
  engine: "Engine",
  workload: "Workload",
  task: "Task",
  run: "Run",
  pull_worker: "Pipeline worker",
  agent: "Agent",
};

/** Lists that show one of theirs beside them, and by which parameter of the address. */
const LISTED: Partial<Record<SearchHit["kind"], readonly [path: string, parameter: string]>> = {
  profile: ["/ui/library/profiles", "profile"],
  preset: ["/ui/library/presets", "edit"],
  skill: ["/ui/library/skills", "edit"],
  engine: ["/ui/library/engines", "edit"],
  agent: ["/ui/system/agents", "q"],
};

/** The page that shows it. */
export function hitHref({ kind, id, workload }: SearchHit): string {
  switch (kind) {
    case "job":
      return jobHref(id);
    case "session":
      return sessionHref(id);
    case "worker":
      return workersHref("browser", { worker: id });
    case "host":
      return hostHref(id);
    case "watch":
      return watchHref(id);
    case "workload":
      return workloadHref(id);
    case "task":
      return withQuery("/ui/pipelines/runs", { task: `${workload}/${id}` });
    case "run":
      return withQuery("/ui/pipelines/runs", { run: id });
    case "pull_worker":
      return workersHref("pipeline", { worker: id });
    default: {
      const [path, parameter] = LISTED[kind] ?? ["/", "q"];
      return withQuery(path, { [parameter]: id });
    }
  }
}

const calls = <K extends JsonOperation>(
  needs: Role,
  operation: K,
  ...given: Args<Asked<CallOf<K>>>
): Pick<HitAction, "needs" | "operation" | "run"> => ({
  needs,
  operation,
  run: () => call(operation, ...given),
});

const setWorker = (id: string, status: "active" | "drain" | "standby") =>
  calls("operator", "POST /workers/{id}/status", { params: { id }, json: { status } });
const setEnabled = (slug: string, enabled: boolean) =>
  calls("operator", "PATCH /api/v1/workloads/{slug}/enabled", {
    params: { slug },
    json: { enabled },
  });

const jobActions = ({ id, title, state }: SearchHit): HitAction[] => {
  if (state !== "queued" && state !== "running") return [];
  return [
    {
      verb: "cancel",
      label: "Cancel capture",
      done: "The capture is cancelled",
      question: `Cancel the capture of ${title}? What it has stored is kept.`,
      ...calls("submitter", "POST /jobs/{id}/cancel", { params: { id } }),
    },
  ];
};

const sessionActions = ({ id, title, state }: SearchHit): HitAction[] => {
  if (state !== "open") return [];
  return [
    {
      verb: "end",
      label: "End session",
      done: "The session has ended",
      question: `End the session on ${title}? Its browser is closed.`,
      ...calls("operator", "DELETE /sessions/{sid}", { params: { sid: id } }),
    },
  ];
};

const workerActions = ({ id, state }: SearchHit): HitAction[] => {
  const activate = {
    verb: "activate",
    label: "Activate worker",
    done: `${id} takes work`,
    ...setWorker(id, "active"),
  };
  const drain = {
    verb: "drain",
    label: "Drain worker",
    done: `${id} takes nothing new`,
    question: `Drain ${id}? What runs there ends by itself; nothing new begins.`,
    ...setWorker(id, "drain"),
  };
  return state === "active" ? [drain] : [activate];
};

const workloadActions = ({ id, state }: SearchHit): HitAction[] => {
  const pause = {
    verb: "pause",
    label: "Pause workload",
    done: `${id} is off`,
    question: `Pause ${id}? Its tasks wait until it is resumed.`,
    ...setEnabled(id, false),
  };
  const resume = {
    verb: "resume",
    label: "Resume workload",
    done: `${id} is on`,
    ...setEnabled(id, true),
  };
  return state === "enabled" ? [pause] : [resume];
};

const taskActions = ({ id: pk, state, workload }: SearchHit): HitAction[] => {
  if (workload === null) return [];
  const params = { slug: workload, pk };
  const retry = {
    verb: "retry",
    label: "Retry task",
    done: `${pk} is ready again`,
    ...calls("operator", "POST /api/v1/workloads/{slug}/queue/{pk}/reset", { params }),
  };
  const cancel = {
    verb: "cancel",
    label: "Cancel task",
    done: `${pk} is cancelled`,
    question: `Cancel the task ${pk} of ${workload}? It leaves the queue.`,
    ...calls("operator", "DELETE /api/v1/workloads/{slug}/queue/{pk}", { params }),
  };
  return state === "failed" ? [retry, cancel] : [cancel];
};

const ACTIONS: Partial<Record<SearchHit["kind"], (hit: SearchHit) => HitAction[]>> = {
  job: jobActions,
  session: sessionActions,
  worker: workerActions,
  workload: workloadActions,
  task: taskActions,
};

/** What this caller can do with it in its state, the most wanted first. */
export const hitActions = (hit: SearchHit, who: WhoIAm | null): HitAction[] =>
  (ACTIONS[hit.kind]?.(hit) ?? []).filter(({ needs }) => mayDo(who, needs));

const VERBS = ["cancel", "end", "drain", "activate", "pause", "resume", "retry", "open"];

/** "drain w12" is the verb and what it is to be done with. */
export function readAsked(query: string): { verb: string | null; words: string } {
  const [, first = "", rest = ""] = /^(\S+)\s+(.*)$/s.exec(query.trim()) ?? [];
  const verb = first.toLowerCase();
  return VERBS.includes(verb) ? { verb, words: rest.trim() } : { verb: null, words: query.trim() };
}

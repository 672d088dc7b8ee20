import type { SearchHit } from "#shared/protocol/schema/search.ts";
import { call, withQuery } from "../lib/http.ts";
import {
  hostHref,
  jobHref,
  sessionHref,
  watchHref,
  workersHref,
  workloadHref,
} from "../lib/links.ts";

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

const LIBRARY: Partial<Record<SearchHit["kind"], string>> = {
  profile: "/ui/library/profiles",
  preset: "/ui/library/presets",
  skill: "/ui/library/skills",
  engine: "/ui/library/engines",
  agent: "/ui/system/agents",
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
    default:
      return LIBRARY[kind] ?? "/";
  }
}

const setWorker = (id: string, status: "active" | "drain" | "standby") => () =>
  call("POST /workers/{id}/status", { params: { id }, json: { status } });
const setEnabled = (slug: string, enabled: boolean) => () =>
  call("PATCH /api/v1/workloads/{slug}/enabled", { params: { slug }, json: { enabled } });

const workerActions = ({ id, state }: SearchHit): HitAction[] => {
  const activate = {
    ...{ verb: "activate", label: "Activate worker", done: `${id} takes work` },
    run: setWorker(id, "active"),
  };
  const drain = {
    ...{ verb: "drain", label: "Drain worker", done: `${id} takes nothing new` },
    question: `Drain ${id}? What runs there ends by itself; nothing new begins.`,
    run: setWorker(id, "drain"),
  };
  return state === "active" ? [drain] : [activate];
};

const taskActions = (workload: string, { id: pk, state }: SearchHit): HitAction[] => {
  const params = { slug: workload, pk };
  const retry = {
    ...{ verb: "retry", label: "Retry task", done: `${pk} is ready again` },
    run: () => call("POST /api/v1/workloads/{slug}/queue/{pk}/reset", { params }),
  };
  const cancel = {
    ...{ verb: "cancel", label: "Cancel task", done: `${pk} is cancelled` },
    question: `Cancel the task ${pk} of ${workload}? It leaves the queue.`,
    run: () => call("DELETE /api/v1/workloads/{slug}/queue/{pk}", { params }),
  };
  return state === "failed" ? [retry, cancel] : [cancel];
};

/** What can be done with it in its state, the most wanted first. */
export function hitActions(hit: SearchHit): HitAction[] {
  const { kind, id, title, state, workload } = hit;
  switch (kind) {
    case "job":
      if (state !== "queued" && state !== "running") return [];
      return [
        {
          ...{ verb: "cancel", label: "Cancel capture", done: "The capture is cancelled" },
          question: `Cancel the capture of ${title}? What it has stored is kept.`,
          run: () => call("POST /jobs/{id}/cancel", { params: { id } }),
        },
      ];
    case "session":
      if (state !== "open") return [];
      return [
        {
          ...{ verb: "end", label: "End session", done: "The session has ended" },
          question: `End the session on ${title}? Its browser is closed.`,
          run: () => call("DELETE /sessions/{sid}", { params: { sid: id } }),
        },
      ];
    case "worker":
      return workerActions(hit);
    case "workload":
      return state === "enabled"
        ? [
            {
              ...{ verb: "pause", label: "Pause workload", done: `${id} is off` },
              question: `Pause ${id}? Its tasks wait until it is resumed.`,
              run: setEnabled(id, false),
            },
          ]
        : [
            {
              ...{ verb: "resume", label: "Resume workload", done: `${id} is on` },
              run: setEnabled(id, true),
            },
          ];
    case "task":
      return workload === null ? [] : taskActions(workload, hit);
    default:
      return [];
  }
}

const VERBS = ["cancel", "end", "drain", "activate", "pause", "resume", "retry", "open"];

/** "drain w12" is the verb and what it is to be done with. */
export function readAsked(query: string): { verb: string | null; words: string } {
  const [, first = "", rest = ""] = /^(\S+)\s+(.*)$/s.exec(query.trim()) ?? [];
  const verb = first.toLowerCase();
  return VERBS.includes(verb) ? { verb, words: rest.trim() } : { verb: null, words: query.trim() };
}

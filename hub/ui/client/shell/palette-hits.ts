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

const tellWorker = (id: string, command: "drain" | "resume") =>
  calls("operator", "POST /api/v1/workers/{id}/admin-command", {
    params: { id },
    json: { command },
  });

const pullWorkerActions = ({ id, state }: SearchHit): HitAction[] => {
  const drain = {
    verb: "drain",
    label: "Drain worker",
    done: `${id} takes no new tasks`,
    question: `Drain ${id}? Its tasks end by themselves; it takes no new ones.`,
    ...tellWorker(id, "drain"),
  };
  const resume = {
    verb: "resume",
    label: "Resume worker",
    done: `${id} takes tasks again`,
    ...tellWorker(id, "resume"),
  };
  if (state === "draining") return [resume];
  return state === "active" ? [drain] : [];
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
  pull_worker: pullWorkerActions,
};

/** What this caller can do with it in its state, the most wanted first. */
export const hitActions = (hit: SearchHit, who: WhoIAm | null): HitAction[] =>
  (ACTIONS[hit.kind]?.(hit) ?? []).filter(({ needs }) => mayDo(who, needs));

/** Whether somebody who named `kinds` means it, too. */
export const isOfKinds = (kind: SearchHit["kind"], kinds: Wish["kinds"]): boolean =>
  kinds === null || kinds.includes(kind);

/** The hits of the kinds that somebody named; null for all. */
export const ofKinds = (hits: readonly SearchHit[], kinds: Wish["kinds"]): readonly SearchHit[] =>
  hits.filter(({ kind }) => isOfKinds(kind, kinds));

const VERBS = ["cancel", "end", "drain", "activate", "pause", "resume", "retry", "open"];

/** What people call the kinds. "worker" is either kind of worker. */
const NOUNS: Record<string, readonly SearchHit["kind"][]> = {
  job: ["job"],
  capture: ["job"],
  session: ["session"],
  browser: ["session"],
  worker: ["worker", "pull_worker"],
  host: ["host"],
  profile: ["profile"],
  schedule: ["watch"],
  watch: ["watch"],
  preset: ["preset"],
  skill: ["skill"],
  engine: ["engine"],
  workload: ["workload"],
  task: ["task"],
  run: ["run"],
  agent: ["agent"],
};

/** What somebody typed, and what it means. */
export interface Wish {
  verb: string | null;
  /** Kinds that the noun after the verb names; null for all. */
  kinds: readonly SearchHit["kind"][] | null;
  /** What is searched for. */
  words: string;
  /** The words with the noun, because a page may be called so. */
  text: string;
}

/** The first word and what follows it; null where nothing follows. */
function firstWord(text: string): [first: string, rest: string] | null {
  const [, first, rest] = /^(\S+)\s+(.*)$/s.exec(text) ?? [];
  return first === undefined || rest === undefined ? null : [first.toLowerCase(), rest.trim()];
}

/** "drain w12" is the verb and what it is to be done with; "cancel job 4711" says of what kind that is, too. */
export function readAsked(query: string): Wish {
  const all = query.trim();
  const [verb, text] = firstWord(all) ?? ["", ""];
  if (!VERBS.includes(verb)) return { verb: null, kinds: null, words: all, text: all };
  const [noun, words] = firstWord(text) ?? ["", ""];
  const kinds = Object.hasOwn(NOUNS, noun) ? NOUNS[noun] : undefined;
  return kinds ? { verb, kinds, words, text } : { verb, kinds: null, words: text, text };
}

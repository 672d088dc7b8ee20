/** The first part of a resource's path, `v1/` before those of the control plane. */
export type Topic =
  | "jobs"
  | "watches"
  | "workers"
  | "sessions"
  | "hosts"
  | "profiles"
  | "engines"
  | "presets"
  | "skills"
  | "conventions"
  | "settings"
  | "health"
  | "tokens"
  | "v1/workloads"
  | "v1/tasks"
  | "v1/plugins"
  | "v1/flow"
  | "v1/workers"
  | "v1/agents"
  | "v1/settings"
  | "v1/service-logs"
  | "v1/admin"
  | "v1/updates"
  | "v1/saved-lists";

/** What changed recently, for open pages. It carries no data: a page reads again what it shows. */
export interface Changes {
  /** Nearly free without listeners, because every change of a job and every call of a pull worker makes one. */
  touch(topic: Topic): void;
  /**
   * Calls `heard` with the topics that have gathered, at most once in GATHER_MS, until the returned function is called.
   */
  listen(heard: (topics: Topic[]) => void): () => void;
}

/** How often a page of a busy fleet reads it again. */
const GATHER_MS = 1_000;

export function createChanges(): Changes {
  const listeners = new Set<(topics: Topic[]) => void>();
  const touched = new Set<Topic>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let told_at = Number.NEGATIVE_INFINITY;
  const tell = () => {
    timer = undefined;
    told_at = performance.now();
    const topics = [...touched];
    touched.clear();
    for (const heard of listeners) heard(topics);
  };
  const touch = (topic: Topic) => {
    if (listeners.size === 0) return;
    touched.add(topic);
    // The first change after a quiet period is announced at once.
    timer ??= setTimeout(tell, Math.max(0, told_at + GATHER_MS - performance.now()));
  };
  return {
    touch,
    listen: (heard) => {
      listeners.add(heard);
      return () => {
        listeners.delete(heard);
        if (listeners.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
        touched.clear();
      };
    },
  };
}

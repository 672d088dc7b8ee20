/**
 * What changed of late, for pages that are open: topics are the first part of a resource's path, `v1/` before those of the
 * control plane. It carries no data: a page reads again what it shows.
 */
export interface Changes {
  /** Nearly free while nobody listens: there is one for every change of a job. */
  touch(topic: string): void;
  /** A call of this path changed something: among them are those of pull workers, so it is as free. */
  called(path: string): void;
  /** Calls `heard` with the topics of the last while, at most once in GATHER_MS, until the returned function is called. */
  listen(heard: (topics: string[]) => void): () => void;
}

/** A page that shows a busy fleet reads it again so often. */
const GATHER_MS = 1_000;

export function createChanges(): Changes {
  const listeners = new Set<(topics: string[]) => void>();
  const touched = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let told_at = Number.NEGATIVE_INFINITY;
  const tell = () => {
    timer = undefined;
    told_at = performance.now();
    const topics = [...touched];
    touched.clear();
    for (const heard of listeners) heard(topics);
  };
  const touch = (topic: string) => {
    if (listeners.size === 0) return;
    touched.add(topic);
    // The first change after a quiet while is told at once.
    timer ??= setTimeout(tell, Math.max(0, told_at + GATHER_MS - performance.now()));
  };
  return {
    touch,
    called: (path) => {
      const topic = listeners.size === 0 ? null : topicOf(path);
      if (topic !== null) touch(topic);
    },
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

const RESOURCE = /^\/(api\/v1\/)?([a-z-]+)/;
/** Calls of pull workers that move tasks; their heartbeats change workers alone. */
const MOVES_TASKS = /^\/api\/v1\/workers\/[^/]+\/(exchange|claim|complete|fail|runs)/;

/** The topic that a call with this path changes. */
export function topicOf(path: string): string | null {
  if (MOVES_TASKS.test(path)) return "v1/tasks";
  const [, prefix, resource] = RESOURCE.exec(path) ?? [];
  return resource === undefined ? null : `${prefix === undefined ? "" : "v1/"}${resource}`;
}

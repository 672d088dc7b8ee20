/** Tells the event streams of this process that a job has new events. Carries no events: streams read the store. */
export interface JobBus {
  publish(job_id: string): void;
  /** Calls `wake` after every publish, until the returned function is called. */
  subscribe(job_id: string, wake: () => void): () => void;
}

export function createJobBus(): JobBus {
  const streams = new Map<string, Set<() => void>>();
  return {
    publish: (job_id) => {
      for (const wake of streams.get(job_id) ?? []) wake();
    },
    subscribe: (job_id, wake) => {
      const of = streams.get(job_id) ?? new Set();
      streams.set(job_id, of.add(wake));
      return () => {
        of.delete(wake);
        if (of.size === 0 && streams.get(job_id) === of) streams.delete(job_id);
      };
    },
  };
}

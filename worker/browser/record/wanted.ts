import type { RequestEntry } from "./requests.ts";

/** Tells the requests of the job, whose bodies are kept, from all others. */
export interface Wanted {
  /** A request begins: marks it when the job was done before. */
  judge(entry: RequestEntry): void;
  /** Whether its body is kept, and nobody has taken it in hand yet. */
  has(entry: RequestEntry): boolean;
  /** The job is done: whatever begins from now on is late. */
  seal(): void;
  /** What is late from now on is not counted any more. */
  stopCounting(): void;
  /** URLs of the late requests. */
  readonly late: readonly string[];
}

/** @param bodies false when no body is kept at all */
export function createWanted(bodies: boolean): Wanted {
  const late: string[] = [];
  let sealed = false;
  let counting = true;
  return {
    judge: (entry) => {
      if (!sealed || entry.late) return;
      entry.late = true;
      if (counting) late.push(entry.url);
    },
    has: (entry) => bodies && !entry.late && !entry.handled,
    seal: () => {
      sealed = true;
    },
    stopCounting: () => {
      sealed = true;
      counting = false;
    },
    late,
  };
}

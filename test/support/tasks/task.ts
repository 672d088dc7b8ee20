/** One request of a visitor below the task's path. */
interface Visit<S> {
  /** What the server knows of this visitor; changed in place. */
  state: S;
  method: string;
  /** Below `/<task>/api/`. */
  path: string;
  query: URLSearchParams;
  request: Request;
  /** States of every visitor of this task, for a call that comes from another origin and so without its cookie. */
  all(): S[];
}

/** A file that the job stored. */
export interface TaskAsset {
  name: string;
  mime: string;
  read(): Promise<string>;
}

/** What a job left behind. */
interface Done<S> {
  /** What the script gave back. */
  result: unknown;
  assets: TaskAsset[];
  /** Of the visitor that the script was. */
  server_state: S;
}

/**
 * One task of the fixed set: a site of its own, what is to be done there in words, and a judge that knows the truth. Its
 * folder also holds `page.html`, served as `/<task>/`, and `reference.ts`, a script that does it.
 */
export interface Task<S = unknown> {
  name: string;
  goal: string;
  newState(): S;
  /** Answers `/<task>/api/<path>`. */
  answer(visit: Visit<S>): Response | Promise<Response>;
  /** What is wrong, in a sentence; null when the task was done. */
  verify(done: Done<S>): string | null | Promise<string | null>;
}

/** Keeps the state's type within the task. */
export const task = <S>(one: Task<S>): Task => one as unknown as Task;

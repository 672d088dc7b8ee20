import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";

const METHODS = Object.values(SESSION_ACTIONS)
  .flatMap(({ script }) => script.map((line) => `    ${line}`))
  .join("\n");

/**
 * The module `flotilla` as authors of scripts see it, people and models alike: declarations for the planner's prompt
 * (rules/scripts#script-module). `guest/flotilla.ts` keeps what it promises.
 */
export const SCRIPT_API = `declare module "flotilla" {
  /** What this job is for. goal is also exported by itself. */
  export const job: { url: string; goal: string | null };
  export const goal: string;

  /** Stores an asset of the job: text, bytes, or any JSON value. name has an extension, such as "rows.json". */
  export function save(
    name: string,
    data: string | Uint8Array | ArrayBuffer | Blob | object | number | boolean | null,
    options?: { mime?: string },
  ): Promise<{ name: string; size: number }>;

  /** A line of the job's story. A last object is kept as fields. */
  export const log: Log & { debug: Log; info: Log; warn: Log; error: Log };
  type Log = (...parts: unknown[]) => Promise<void>;

  /** Thrown by every method of session. name: "TimeoutError", "Error", … */
  export class SessionError extends Error {
    action: string;
    /** "invalid": the page or the arguments; "timed_out"; "not_found": the session is gone. */
    kind: string;
  }

  /** Playwright's selectors: CSS, text=…, role=button[name="…"], xpath=…; CSS pierces open shadow roots. Must fit one element: add " >> nth=0" for the first of several. */
  type Selector = string;
  /** timeout_s: seconds, 30 by default. */
  type Timeout = { timeout_s?: number };
  /** frame: the selector of the iframe to act in, from outside in for nested ones. */
  type Frame = { frame?: Selector | Selector[] };
  type Point = { x: number; y: number };
  type LoadState = "load" | "domcontentloaded" | "networkidle";
  type Tab = { index: number; url: string; title: string; active: boolean };
  type Dialog = { dialog_id: string; type: "alert" | "confirm" | "prompt" | "beforeunload"; message: string; default_prompt: string; url: string; active: boolean };
  type Download = { name: string; mime: string; size: number; url: string; state: string };

  /** The browser tab of this job, which shows job.url when the script begins. Await every call. */
  export const session: {
${METHODS}
  };
  type InputFile = { name: string; mime?: string; content: string | Uint8Array };
}
`;

/**
 * The module `flotilla` as authors of scripts see it, people and models alike: declarations for the planner's prompt
 * (rules/scripts#script-module). What it promises is kept by `guest/flotilla.ts` and by `SESSION_ACTIONS`.
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
    navigate(url: string, options?: { wait_until?: LoadState | "commit"; referer?: string } & Timeout): Promise<unknown>;
    /** wait_for: resolves when the popup is the active tab (to its Tab), or the download is whole (to its Download). */
    click(selector: Selector, options?: { button?: "left" | "middle" | "right"; click_count?: number; position?: Point; wait_for?: "popup" | "download" } & Frame & Timeout): Promise<any>;
    /** At a point of the page, in CSS pixels. */
    click(x: number, y: number, options?: { button?: "left" | "middle" | "right"; click_count?: number } & Timeout): Promise<any>;
    /** Empties the field and puts the text in. */
    fill(selector: Selector, text: string, options?: Frame & Timeout): Promise<null>;
    /** Key by key, into the field or where the focus is. */
    type(selector: Selector, text: string, options?: { delay_ms?: number } & Frame & Timeout): Promise<null>;
    type(text: string, options?: { delay_ms?: number } & Timeout): Promise<null>;
    /** "Enter", "Control+A", … */
    press(selector: Selector, key: string, options?: Frame & Timeout): Promise<null>;
    press(key: string, options?: Timeout): Promise<null>;
    hover(selector: Selector, options?: { position?: Point } & Frame & Timeout): Promise<null>;
    drag_and_drop(source: Selector, target: Selector, options?: { source_position?: Point; target_position?: Point } & Frame & Timeout): Promise<null>;
    mouse(op: "move", x: number, y: number, options?: { steps?: number } & Timeout): Promise<null>;
    mouse(op: "down" | "up", options?: { x?: number; y?: number; button?: "left" | "middle" | "right" } & Timeout): Promise<null>;
    select_option(selector: Selector, values: string | string[], options?: Frame & Timeout): Promise<unknown>;
    check(selector: Selector, options?: Frame & Timeout): Promise<null>;
    uncheck(selector: Selector, options?: Frame & Timeout): Promise<null>;
    /** By so many pixels, or to an element. */
    scroll(to: number | Selector, options?: Frame & Timeout): Promise<null>;
    /** For an element (state: "visible" by default), a load state, or seconds. */
    wait(selector: Selector, options?: { state?: "attached" | "detached" | "visible" | "hidden" } & Frame & Timeout): Promise<null>;
    wait(state: LoadState, options?: Timeout): Promise<null>;
    wait(seconds: number): Promise<null>;
    /** Runs in the page; sees the page's document and arg, and nothing of the script. The result is JSON. */
    evaluate<T = any, A = any>(code: string | ((arg: A) => T | Promise<T>), arg?: A, options?: Frame & Timeout): Promise<T>;
    set_input_files(selector: Selector, files: InputFile | InputFile[], options?: Frame & Timeout): Promise<null>;
    /** The picture's bytes. */
    screenshot(options?: { format?: "png" | "jpeg" | "webp"; quality?: number; full_page?: boolean; selector?: Selector } & Frame & Timeout): Promise<Uint8Array>;
    pdf(options?: { format?: string; landscape?: boolean; print_background?: boolean } & Timeout): Promise<Uint8Array>;
    /** The document's HTML. */
    content(options?: Frame & Timeout): Promise<string>;
    /** What is shown, of the page or of one element; an element that is not there now is an error at once. */
    text(selector?: Selector, options?: Frame & Timeout): Promise<string>;
    markdown(selector?: Selector, options?: Frame & Timeout): Promise<string>;
    links(options?: Frame & Timeout): Promise<{ href: string; text: string }[]>;
    back(options?: Timeout): Promise<unknown>;
    forward(options?: Timeout): Promise<unknown>;
    reload(options?: { wait_until?: LoadState | "commit" } & Timeout): Promise<unknown>;
    tabs(): Promise<Tab[]>;
    /** Opens, closes or selects a tab; actions go to the selected one. */
    tab(op: "new", url?: string): Promise<Tab[]>;
    tab(op: "close" | "select", index?: number): Promise<Tab[]>;
    /** What pages ask (alert, confirm, prompt) and nobody has answered; with the job's option dialog_policy "wait" alone they wait. */
    dialogs(): Promise<Dialog[]>;
    /** Answers the active tab's dialog, with text for a prompt. A click that opens one resolves to { dialog } while it waits. */
    dialog(op: "accept", prompt_text?: string, options?: { dialog_id?: string } & Timeout): Promise<Dialog>;
    dialog(op: "dismiss", options?: { dialog_id?: string } & Timeout): Promise<Dialog>;
    downloads(): Promise<Download[]>;
    /** The newest download, or the one of that name, waited for until it is whole. */
    read_download(name?: string, options?: Timeout): Promise<{ name: string; mime: string; size: number; bytes: Uint8Array }>;
    keepalive(options?: { idle_ttl_s?: number }): Promise<unknown>;
    /** Steps of a host's recipe. \${ENV:NAME} in a text stands for a value of the hub's environment: the way for passwords. */
    recipe(actions: { kind: "wait" | "click" | "fill" | "type" | "press" | "scroll" | "navigate" | "evaluate"; [field: string]: unknown }[]): Promise<unknown>;
    /** What a language model says of the page; with schema (JSON Schema) json has that shape. Slow: prefer evaluate. */
    ask(prompt: string, options?: { engine?: string; schema?: object; screenshot?: boolean } & Timeout): Promise<{ text: string; json?: any }>;
    /** A language model acts on the page by itself until the goal is reached. Slow: for what no selector can say. */
    agent(goal: string, options?: { engine?: string; max_steps?: number } & Timeout): Promise<{ done: boolean; answer: string | null; reason: string | null }>;
  };
  type InputFile = { name: string; mime?: string; content: string | Uint8Array };
}
`;

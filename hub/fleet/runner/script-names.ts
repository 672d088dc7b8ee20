import { isSessionAction } from "#shared/protocol/actions/session-actions.ts";

/** Names that scripts are checked against. */

/** What the module `flotilla` exports. */
export const EXPORTS = new Set(["session", "goal", "job", "save", "log", "SessionError"]);

/** Names of other tools for what a session has. */
const ACTION_OF: Record<string, string | undefined> = {
  goto: "navigate",
  open: "navigate",
  dblclick: "click with click_count: 2",
  tap: "click",
  setChecked: "check or uncheck",
  dragTo: "drag_and_drop",
  goBack: "back",
  goForward: "forward",
  waitForSelector: "wait",
  waitForTimeout: "wait with seconds",
  waitForLoadState: "wait with load_state",
  waitForNavigation: "wait with load_state",
  waitForURL: "wait with load_state",
  waitFor: "wait",
  innerText: "text",
  textContent: "text",
  innerHTML: "content",
  html: "content",
  act: "agent",
  extract: "ask",
  observe: "ask",
  keyboard: "press or type",
  $: "evaluate",
  $$: "evaluate",
  $eval: "evaluate",
  $$eval: "evaluate",
  locator: "click, fill, text … with a selector",
  getByRole: "a selector such as role=button[name='…']",
  getByText: "a selector such as text=…",
  getByLabel: "a selector",
  getByPlaceholder: "a selector",
  query: "evaluate",
  querySelector: "evaluate",
  querySelectorAll: "evaluate",
  eval: "evaluate",
  upload: "set_input_files",
  download: "read_download",
  acceptDialog: 'dialog with "accept"',
  dismissDialog: 'dialog with "dismiss"',
  handleDialog: "dialog",
  on: "dialogs, downloads or tabs: a session has no events",
};

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What somebody who wrote `session.<name>` may have meant. */
export function meantAction(name: string): string | null {
  if (isSessionAction(snake(name))) return snake(name);
  return ACTION_OF[name] ?? null;
}

const NO_WAY_OUT = "a script reaches the browser through session, and nothing else";
const PAGE_ONLY = "exists only in the page: use it inside session.evaluate(() => …)";

/** Globals of the runtime or of a page that scripts may not use, with the message about them. */
export const FORBIDDEN: Record<string, string> = {
  ...Object.fromEntries(
    ["process", "Bun", "Deno", "globalThis", "global", "self", "navigator"].map((name) => [
      name,
      "is not for scripts",
    ]),
  ),
  ...Object.fromEntries(
    ["fetch", "WebSocket", "XMLHttpRequest", "EventSource", "Worker", "BroadcastChannel"].map(
      (name) => [name, `is not for scripts: ${NO_WAY_OUT}`],
    ),
  ),
  ...Object.fromEntries(
    ["require", "module", "exports", "__dirname", "__filename", "importScripts"].map((name) => [
      name,
      'is not for scripts: import only from "flotilla"',
    ]),
  ),
  ...Object.fromEntries(
    ["eval", "Function", "ShadowRealm", "WebAssembly"].map((name) => [
      name,
      "is not for scripts: code that is made while it runs cannot be checked",
    ]),
  ),
  ...Object.fromEntries(
    ["document", "window", "location", "localStorage", "sessionStorage", "alert"].map((name) => [
      name,
      PAGE_ONLY,
    ]),
  ),
  page: "does not exist: use session",
  browser: "does not exist: use session",
  context: "does not exist: use session",
};

/** Names that mean nothing but a value. */
const LITERAL_NAMES = ["undefined", "NaN", "Infinity", "arguments"];
const KNOWN = new Set([...Object.getOwnPropertyNames(globalThis), ...LITERAL_NAMES]);

/** Whether the runtime has a global of that name that scripts may use. */
export const isGlobal = (name: string): boolean => KNOWN.has(name);

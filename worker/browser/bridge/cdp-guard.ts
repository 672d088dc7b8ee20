import { resolve } from "node:path";
import { parseJson } from "#shared/kit/json.ts";

/** What a CDP client may do with a lane's browser. The client controls the browser, but not the worker around it. */

export interface GuardRules {
  /** Where downloads go, regardless of what the client says. */
  downloads: string;
  /** Directories below which a file may be given to a page. */
  readable: readonly string[];
  /** Sessions and targets of the client that are pages of the browser itself. */
  browser_ui?: ReadonlySet<string>;
  /** Why this http(s) URL may not be opened, as a clause of a sentence; null when it may. */
  refusalOfUrl(url: string): string | null;
}

/**
 * `pass`: forward it unchanged. `send`: send this text instead. `answer`: send nothing to the browser and this to the
 * client.
 */
export type Verdict =
  | { kind: "pass" }
  | { kind: "send"; text: string }
  | { kind: "answer"; text: string; close: boolean };

interface Command {
  id?: unknown;
  sessionId?: unknown;
  method?: unknown;
  params?: Record<string, unknown>;
}

/** Why a command is refused; the message goes to the client. */
class Refused extends Error {}

/** A refusal in the browser's own words. */
class RefusedByBrowser extends Refused {}

type Params = Record<string, unknown>;
/** Returns the parameters with which the command may be sent. @throws Refused */
type Judge = (params: Params, rules: GuardRules) => Params;

const PASS: Verdict = { kind: "pass" };
const CODE = { parse: -32700, refused: -32000 } as const;

const never =
  (why: string): Judge =>
  () => {
    throw new Refused(why);
  };

const SCHEMES = new Set(["http:", "https:", "about:", "data:", "blob:", "javascript:"]);

function checkUrl(url: unknown, rules: GuardRules): void {
  if (url === undefined || url === "") return;
  const parsed = typeof url === "string" ? URL.parse(url) : null;
  if (!parsed) throw new Refused("not a URL");
  if (!SCHEMES.has(parsed.protocol)) throw new Refused(`${parsed.protocol} URLs cannot be opened`);
  // Chromium takes any other about: URL for one of its own pages: about:settings is chrome://settings.
  if (parsed.protocol === "about:" && !/^about:(blank|srcdoc)([?#]|$)/i.test(parsed.href))
    throw new Refused(`${parsed.href} cannot be opened`);
  if (!parsed.protocol.startsWith("http")) return;
  const reason = rules.refusalOfUrl(parsed.href);
  if (reason) throw new Refused(reason);
}

function checkFiles(files: unknown, { readable }: GuardRules): void {
  if (files === undefined) return;
  if (!Array.isArray(files)) throw new Refused("files must be a list");
  for (const file of files) {
    const path = resolve("/", String(file));
    if (!readable.some((dir) => path.startsWith(`${dir}/`)))
      throw new Refused(
        `${file} is not a file of this session: give the file's content, or upload it with set_input_files`,
      );
  }
}

const withUrl: Judge = (params, rules) => {
  checkUrl(params.url, rules);
  return params;
};
/** Parsed as the browser parses it, so that nothing slips through that only one of the two understands. */
const toNavigate: Judge = (params, rules) => {
  if (typeof params.url === "string" && params.url !== "" && !URL.canParse(params.url))
    throw new RefusedByBrowser("Cannot navigate to invalid URL");
  return withUrl(params, rules);
};
const withDownloads: Judge = (params, { downloads }) =>
  params.downloadPath === undefined ? params : { ...params, downloadPath: downloads };

const ESCAPE = "it would reach beyond the lane";
/** Domains whose commands all do so: devices, ports and programs of the machine, extensions. */
const ESCAPING = ["Cast", "DeviceAccess", "Extensions", "PWA", "Tethering"];

/** A context with its own proxy bypasses the lane's gate: with `direct://`, and with any proxy on loopback. */
const withoutProxy: Judge = (params) => {
  if (params.proxyServer !== undefined || params.proxyBypassList !== undefined)
    throw new Refused("a lane has one way out, and no context may use another");
  return params;
};
/** A Perfetto configuration may name a file to write to, and a tracing service of the machine. */
const withoutPerfetto: Judge = (params) => {
  if (params.perfettoConfig !== undefined || params.tracingBackend === "system")
    throw new Refused(`${ESCAPE}: give traceConfig`);
  return params;
};

const JUDGES: Record<string, Judge> = {
  "Browser.crash": never("it would end the browser"),
  "Browser.crashGpuProcess": never("it would end the browser"),
  "Browser.setDownloadBehavior": withDownloads,
  "DOM.setFileInputFiles": (params, rules) => {
    checkFiles(params.files, rules);
    return params;
  },
  "Fetch.continueRequest": withUrl,
  "Input.dispatchDragEvent": (params, rules) => {
    checkFiles((params.data as Params | undefined)?.files, rules);
    return params;
  },
  "Network.loadNetworkResource": withUrl,
  "Page.navigate": toNavigate,
  "Page.setDownloadBehavior": withDownloads,
  "Target.createBrowserContext": withoutProxy,
  "Target.createTarget": withUrl,
  "Target.exposeDevToolsProtocol": never("a page would gain control of the browser"),
  "Target.openDevTools": never("devtools: URLs cannot be opened"),
  // The old way to talk to a target: a command inside a command.
  "Target.sendMessageToTarget": (params, rules) => {
    for (const id of [params.sessionId, params.targetId])
      if (typeof id === "string" && rules.browser_ui?.has(id)) throw new Refused(BROWSER_UI);
    const inner = judgeCommand(parse(String(params.message)), rules);
    return { ...params, message: JSON.stringify(inner) };
  },
  "Target.setRemoteLocations": never(ESCAPE),
  "Tracing.start": withoutPerfetto,
};
const CLOSE = "Browser.close";
const BROWSER_UI = "it is a page of the browser itself";
/** Commands that release such a page: clients that attach to everything use them on each. */
const LEAVING = new Set([
  "Runtime.runIfWaitingForDebugger",
  "Target.detachFromTarget",
  "Target.setAutoAttach",
]);

/**
 * Whether a message might be harmful: it names a method that must be judged, or hides letters behind an escape.
 * Messages that do not match are forwarded unread.
 */
const SUSPECT = new RegExp(
  [
    ...[CLOSE, ...Object.keys(JUDGES), ...ESCAPING.map((domain) => `"${domain}.`)].map((name) =>
      name.replace(".", "\\."),
    ),
    String.raw`\\[ux]`,
  ].join("|"),
);

function parse(text: string): Command {
  let command: unknown;
  try {
    command = parseJson(text);
  } catch {
    throw new Refused("not JSON");
  }
  if (typeof command !== "object" || command === null || Array.isArray(command))
    throw new Refused("not a command");
  return command as Command;
}

const names = (text: string, ids: ReadonlySet<string> | undefined): boolean => {
  for (const id of ids ?? []) if (text.includes(id)) return true;
  return false;
};

/** The command as it may be sent. @throws Refused */
function judgeCommand(command: Command, rules: GuardRules): Command {
  const { sessionId } = command;
  const method = String(command.method);
  if (method === CLOSE) throw new Refused("it would end the browser");
  if (ESCAPING.includes(method.replace(/\..*$/s, ""))) throw new Refused(ESCAPE);
  const is_ui = typeof sessionId === "string" && rules.browser_ui?.has(sessionId);
  if (is_ui && !LEAVING.has(method)) throw new Refused(BROWSER_UI);
  const judge = Object.hasOwn(JUDGES, method) ? JUDGES[method] : undefined;
  return judge ? { ...command, params: judge(command.params ?? {}, rules) } : command;
}

const answerTo = ({ id, sessionId }: Command, more: Record<string, unknown>): string =>
  JSON.stringify({ id, ...(sessionId === undefined ? {} : { sessionId }), ...more });

/** What becomes of one message of a client. Pure. */
export function judgeMessage(payload: Buffer, rules: GuardRules): Verdict {
  // Names are ASCII, so the bytes need no decoding to be searched.
  const text = payload.toString("latin1");
  if (!SUSPECT.test(text) && !names(text, rules.browser_ui)) return PASS;
  let command: Command = {};
  try {
    command = parse(payload.toString());
    if (command.method === CLOSE)
      return { kind: "answer", text: answerTo(command, { result: {} }), close: true };
    // Serialised again, so that of two members with one name only the one that was judged remains.
    return { kind: "send", text: JSON.stringify(judgeCommand(command, rules)) };
  } catch (err) {
    if (!(err instanceof Refused)) throw err;
    const code = command.method === undefined ? CODE.parse : CODE.refused;
    const message =
      err instanceof RefusedByBrowser
        ? err.message
        : `${command.method ?? "message"} refused: ${err.message}`;
    return { kind: "answer", text: answerTo(command, { error: { code, message } }), close: false };
  }
}

import { isBrowserUi } from "../cdp/browser-ui.ts";
import type { CdpClient, TargetFilter } from "../session/cdp-clients.ts";

/** Reports to `CdpClient` what passes over one connection in either direction, and changes nothing. */

/** Events that name what a client is attached to begin with this. */
export const EVENT_PREFIX = Buffer.from('{"method":"Target.');
/** Longer commands cannot be any of these. */
const MAX_COMMAND_BYTES = 16 * 1024;
const COMMANDS =
  /"(Page\.enable|Page\.disable|Target\.(createTarget|setAutoAttach)|Runtime\.runIfWaitingForDebugger)"/;

interface Message {
  id?: unknown;
  method?: unknown;
  sessionId?: unknown;
  params?: {
    sessionId?: unknown;
    targetInfo?: { targetId?: unknown; type?: unknown; url?: unknown };
    waitingForDebugger?: unknown;
    autoAttach?: unknown;
    waitForDebuggerOnStart?: unknown;
    filter?: unknown;
  };
}

const sessionOf = ({ sessionId }: Message): string | null =>
  typeof sessionId === "string" ? sessionId : null;

/**
 * An event of the browser that begins with `EVENT_PREFIX`. `browser_ui` receives the ids of sessions and targets of
 * the browser's own UI that the client is attached to.
 */
export function hearEvent(client: CdpClient, text: string, browser_ui: Set<string>): void {
  if (!/^.{0,40}(attachedTo|detachedFrom)Target"/.test(text)) return;
  const message = JSON.parse(text) as Message;
  const { sessionId: session_id, targetInfo, waitingForDebugger } = message.params ?? {};
  if (typeof session_id !== "string") return;
  if (message.method === "Target.detachedFromTarget") {
    browser_ui.delete(session_id);
    client.detached(session_id);
    return;
  }
  const [target_id, type] = [String(targetInfo?.targetId), String(targetInfo?.type)];
  if (isBrowserUi({ type, url: String(targetInfo?.url) })) {
    browser_ui.add(session_id);
    browser_ui.add(target_id);
  }
  client.attached({
    session_id,
    target_id,
    type,
    parent: sessionOf(message),
    state: waitingForDebugger === true ? "held" : "free",
  });
}

/** A command that lets a target run which the client holds. */
interface Release {
  /** What it must wait for; null for nothing. */
  wait: Promise<void> | null;
  /** What the browser's answer begins with. */
  answer: Buffer;
  /** To be called with that answer. */
  answered(): void;
}

/** A command for the browser. @returns the release that it is; null for any other command. */
export function hearCommand(client: CdpClient, payload: Buffer): Release | null {
  if (payload.length > MAX_COMMAND_BYTES || !COMMANDS.test(payload.toString("latin1"))) return null;
  let message: Message;
  try {
    message = JSON.parse(payload.toString()) as Message;
  } catch {
    return null;
  }
  const session_id = sessionOf(message);
  switch (message.method) {
    case "Page.enable":
    case "Page.disable":
      client.pageEnabled(session_id, message.method === "Page.enable");
      return null;
    case "Target.createTarget":
      client.opensTab();
      return null;
    case "Target.setAutoAttach": {
      const { autoAttach, waitForDebuggerOnStart, filter } = message.params ?? {};
      const waits = autoAttach === true && waitForDebuggerOnStart === true;
      client.autoAttach(session_id, waits, filterOf(filter));
      return null;
    }
    case "Runtime.runIfWaitingForDebugger":
      return session_id === null ? null : releaseOf(client, session_id, message.id);
    default:
      return null;
  }
}

function releaseOf(client: CdpClient, session_id: string, id: unknown): Release | null {
  const release = client.release(session_id);
  if (release === null) return null;
  const answered = () => client.releaseAnswered(session_id);
  return { wait: release.wait, answer: Buffer.from(`{"id":${id},`), answered };
}

/** Null when there is none and Chromium's default applies. */
const filterOf = (value: unknown): TargetFilter | null =>
  Array.isArray(value) && value.every((entry) => typeof entry === "object" && entry !== null)
    ? (value as TargetFilter)
    : null;

import type { BrowserContext } from "playwright-core";
import type { NetworkEntry } from "#shared/protocol/schema/session.ts";
import type { RecordingEvent } from "#shared/recording/events.ts";
import type { CdpSession } from "../cdp/connection.ts";
import type { CdpClients } from "./cdp-clients.ts";
import type { DialogAnswer, OpenDialog } from "./dialogs.ts";
import type { RequestOrigin } from "./network-log.ts";

/** What a session's recorders are told of its clients, dialogs and pages. */

type Tell = (event: RecordingEvent) => void;

export function dialogEvent(
  { type: kind, message: text }: OpenDialog,
  answer: DialogAnswer | null,
): RecordingEvent {
  if (answer === null) return { type: "dialog", state: "opened", kind, text };
  const state = answer.accepted ? "accepted" : "dismissed";
  return { type: "dialog", state, kind, text, by: answer.by };
}

export const failedEvent = (
  { url, type, error }: NetworkEntry,
  origin: RequestOrigin | null,
): RecordingEvent => ({
  type: "request_failed",
  url,
  error: error ?? "failed",
  resource: type,
  ...(origin && { source: origin.url, line: origin.line, column: origin.column }),
});

/** The same clients, whose coming and going is told. */
export const toldOf = (clients: CdpClients, tell: Tell): CdpClients => ({
  ...clients,
  join: (own_target, by) => {
    const client = clients.join(own_target, by);
    tell({ type: "cdp", state: "connected", ...(by !== undefined && { by }) });
    return {
      ...client,
      leave: () => {
        client.leave();
        tell({ type: "cdp", state: "disconnected", ...(by !== undefined && { by }) });
      },
    };
  },
});

/**
 * Returns the function that tells what the browser itself writes into the console of a page: blocked and failed requests,
 * broken rules of security, and the like. A page cannot notice it. It is heard once, however many sessions its target has.
 */
export function hearLog(tell: Tell): (session: CdpSession) => void {
  const heard = new Set<string>();
  return (session) => {
    const { targetId = "", type = "" } = session.target ?? {};
    if (!/^(page|iframe)$/.test(type) || heard.has(targetId)) return;
    heard.add(targetId);
    void session.closed.then(() => heard.delete(targetId));
    session.on("Log.entryAdded", ({ entry: { level, text, url, lineNumber: line } }) =>
      tell({ type: "console", level, text, url, line }),
    );
    session.post("Log.enable");
  };
}

/** What `tellConsole` tells. */
export const SAID_BY_PAGES = ["console", "error"] as const;

/**
 * Tells what pages say to their console, and errors that nothing in them has caught. Only where Playwright is connected
 * anyway: a page can notice who listens, and a fetch job must not be noticed.
 */
export function tellConsole(context: BrowserContext, tell: Tell): void {
  tell({ type: "hears", kinds: [...SAID_BY_PAGES] });
  context.on("console", (message) => {
    const { url, lineNumber: line, columnNumber: column } = message.location();
    tell({ type: "console", level: message.type(), text: message.text(), url, line, column });
  });
  context.on("weberror", (error) => {
    const { url, line, column } = error.location();
    tell({
      type: "error",
      text: String(error.error()?.message ?? "an error"),
      // What has no place of its own, such as a promise that was refused, has its page.
      ...(url === "" ? { url: error.page()?.url() } : { url, line, column }),
    });
  });
}

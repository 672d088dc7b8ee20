import type { BrowserContext } from "playwright-core";
import type { RecordingEvent } from "#shared/recording/events.ts";
import type { CdpClients } from "./cdp-clients.ts";

/** What a session's recorders are told of its clients, dialogs and pages. */

type Tell = (event: RecordingEvent) => void;

export const dialogState = (accepted: boolean | null): "opened" | "accepted" | "dismissed" => {
  if (accepted === null) return "opened";
  return accepted ? "accepted" : "dismissed";
};

/** The same clients, whose coming and going is told. */
export const toldOf = (clients: CdpClients, tell: Tell): CdpClients => ({
  ...clients,
  join: (own_target) => {
    const client = clients.join(own_target);
    tell({ type: "cdp", state: "connected" });
    return {
      ...client,
      leave: () => {
        client.leave();
        tell({ type: "cdp", state: "disconnected" });
      },
    };
  },
});

/**
 * Tells what pages say to their console, and errors that nothing in them has caught. Only where Playwright is connected
 * anyway: a page can notice who listens, and a fetch job must not be noticed.
 */
export function tellConsole(context: BrowserContext, tell: Tell): void {
  context.on("console", (message) => {
    const { url, lineNumber: line, columnNumber: column } = message.location();
    tell({ type: "console", level: message.type(), text: message.text(), url, line, column });
  });
  context.on("weberror", (error) => {
    tell({
      type: "error",
      text: String(error.error()?.message ?? "an error"),
      url: error.page()?.url(),
    });
  });
}

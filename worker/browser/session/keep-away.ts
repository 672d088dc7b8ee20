import type { CdpSession } from "../cdp/connection.ts";
import { isInspector } from "./tabs.ts";

export interface KeepAwayDeps {
  root: CdpSession;
  /** A CDP session of this tab; null when it is gone. */
  sessionOf(target_id: string): CdpSession | null;
  /** Why a URL may not be shown or requested, or null. */
  refusal(url: string): string | null;
  /** The same for the address a document came from. */
  refusalOfAddress(address: string, port: number): string | null;
  onRefused(url: string, reason: string): void;
  /** False in somebody else's browser, whose tabs are left as they are. */
  acts: boolean;
}

/** Keeps tabs away from what must not be shown. */
export interface KeepAway {
  /** The tab must not stay at this URL. */
  leave(target_id: string, url: string, reason: string): void;
  /** A document is about to be requested for this tab. */
  asked(target_id: string, url: string): void;
  /** Listens to what documents this page requests, and where they come from. */
  watch(session: CdpSession, target_id: string): void;
}

export function createKeepAway(deps: KeepAwayDeps): KeepAway {
  const { root } = deps;
  const leave = (target_id: string, url: string, reason: string): void => {
    if (!deps.acts) return;
    deps.onRefused(url, reason);
    // The inspector's own window cannot be sent anywhere.
    if (isInspector({ url })) {
      root.post("Target.closeTarget", { targetId: target_id });
      return;
    }
    const session = deps.sessionOf(target_id);
    session?.post("Page.stopLoading");
    session?.post("Page.navigate", { url: "about:blank" });
  };
  const asked = (target_id: string, url: string): void => {
    const reason = deps.refusal(url);
    if (reason) leave(target_id, url, reason);
  };
  return {
    leave,
    asked,
    watch: (session, target_id) => {
      session.on("Network.requestWillBeSent", ({ type, request }) => {
        if (type === "Document") asked(target_id, request.url);
      });
      session.on("Network.responseReceived", ({ type, response }) => {
        const { remoteIPAddress: address, remotePort: port, url } = response;
        if (type !== "Document" || !address || !port) return;
        const reason = deps.refusalOfAddress(address, port);
        if (reason) leave(target_id, url, reason);
      });
    },
  };
}

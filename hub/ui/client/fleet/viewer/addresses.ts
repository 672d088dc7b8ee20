import { seg } from "../../lib/http.ts";

/** Page of a session's viewer (rules/viewer#viewer-page). With `view_only` the hub itself lets no key and no click through. */
export const viewerAddress = (sid: string, view_only: boolean): string =>
  `/sessions/${seg(sid)}/novnc/?autoconnect=1&resize=scale&reconnect=1` +
  `&path=sessions/${seg(sid)}/novnc/websockify${view_only ? "&view_only=true" : ""}`;

/** What Playwright's connectOverCDP and Puppeteer's connect take. */
export const cdpAddress = (sid: string): string =>
  `${location.origin.replace(/^http/, "ws")}/sessions/${seg(sid)}/cdp`;

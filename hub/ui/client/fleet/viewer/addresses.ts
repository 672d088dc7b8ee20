import { pathOf } from "#shared/client/operation.ts";

/** Page of a session's viewer (rules/viewer#viewer-page). With `view_only` the hub itself lets no key and no click through. */
export const viewerAddress = (sid: string, view_only: boolean): string =>
  `${pathOf("GET /sessions/{sid}/novnc", { params: { sid } })}/?autoconnect=1&resize=scale&reconnect=1` +
  `&path=${pathOf("GET /sessions/{sid}/novnc/websockify", { params: { sid } }).slice(1)}` +
  (view_only ? "&view_only=true" : "");

/** What Playwright's connectOverCDP and Puppeteer's connect take. */
export const cdpAddress = (sid: string): string =>
  location.origin.replace(/^http/, "ws") + pathOf("GET /sessions/{sid}/cdp", { params: { sid } });

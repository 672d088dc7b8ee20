import type { AppInfo } from "./app-info.ts";

const meta = (name: string): string =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";

/** What the server said about itself with the page. */
export const info: AppInfo = JSON.parse(meta("flotilla"));

/** Allows the style elements of this page. */
export const styleNonce = (): string => meta("style-nonce");

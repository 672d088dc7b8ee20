/**
 * Pages of the browser itself that are not part of the web: Chromium's UI, extensions, the inspector. They may do
 * things that no web page may.
 */
export const isBrowserUi = ({ type, url }: { type: string; url: string }): boolean =>
  type === "browser_ui" ||
  type === "background_page" ||
  /^(chrome|chrome-untrusted|chrome-extension|devtools):/.test(url);

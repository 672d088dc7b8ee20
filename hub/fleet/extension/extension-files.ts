import cookies from "./files/cookies.js" with { type: "text" };
import manifest from "./files/manifest.json";
import optionsPage from "./files/options.html" with { type: "text" };
import options from "./files/options.js" with { type: "text" };
import popupPage from "./files/popup.html" with { type: "text" };
import popup from "./files/popup.js" with { type: "text" };
import worker from "./files/service-worker.js" with { type: "text" };
import settings from "./files/settings.js" with { type: "text" };
import style from "./files/style.css" with { type: "text" };

const JS = "text/javascript; charset=utf-8";
const HTML = "text/html; charset=utf-8";
const JSON_TYPE = "application/json";

export interface ExtensionFile {
  name: string;
  type: string;
  text: string;
}

/** Pages are typed as bundles, which they are not when imported as text; hence String. */
const FIXED: readonly ExtensionFile[] = [
  { name: "manifest.json", type: JSON_TYPE, text: `${JSON.stringify(manifest, null, 2)}\n` },
  { name: "service-worker.js", type: JS, text: worker },
  { name: "cookies.js", type: JS, text: cookies },
  { name: "settings.js", type: JS, text: settings },
  { name: "popup.html", type: HTML, text: String(popupPage) },
  { name: "popup.js", type: JS, text: popup },
  { name: "options.html", type: HTML, text: String(optionsPage) },
  { name: "options.js", type: JS, text: options },
  { name: "style.css", type: "text/css; charset=utf-8", text: style },
];

/**
 * The cookie-sync extension (rules/hosts#cookie-sync-extension; Manifest V3), every file of it. `hub` is the address it
 * offers until somebody sets another.
 */
export const extensionFiles = (hub: string): ExtensionFile[] => [
  ...FIXED,
  { name: "config.json", type: JSON_TYPE, text: `${JSON.stringify({ hub })}\n` },
];

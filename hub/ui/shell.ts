import type { AppBundle } from "./bundle.ts";
import type { FirstColors } from "./chosen-colors.ts";
import type { AppInfo } from "./client/lib/app-info.ts";
import { homePath, isPagePath } from "./page-path.ts";

/** The mark of the app, as `client/shell/mark.tsx` draws it. */
const MARK =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 22 22'%3E%3Crect width='22' height='22' rx='6' fill='%232b4fd8'/%3E%3Cg fill='%23fff'%3E%3Cpath d='M11.4 4.2v9.6h6.1c-.3-3.9-2.6-7.5-6.1-9.6z'/%3E%3Cpath d='M9.8 7.2v6.6H5c.4-2.7 2.2-5 4.8-6.6z' opacity='.62'/%3E%3Cpath d='M4.2 15.3h13.6c-.9 1.7-2.5 2.6-4.3 2.6h-5c-1.8 0-3.4-.9-4.3-2.6z'/%3E%3C/g%3E%3C/svg%3E";

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/**
 * Allows only this origin, except for who may embed it (no frame-ancestors: rules/web-app#policy-of-the-app). Frames
 * show viewers, captured pages and pages of plugins.
 */
export const contentPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

interface Shell {
  info: AppInfo;
  nonce: string;
  /** Of the page that is shown. */
  path: string;
  colors: FirstColors;
}

/** The page of the app at a path; it names all scripts that this one needs, so that they come beside each other. */
export function shellPage(bundle: AppBundle, { info, nonce, path, colors }: Shell): string {
  const at = (name: string) => `/ui/assets/${name}`;
  const wanted = path === "/" ? homePath() : path;
  const page = bundle.pages.find((one) => isPagePath(one.path, wanted));
  const scripts = [...bundle.preload, bundle.entry, ...(page?.files ?? [])];
  return `<!doctype html>
<html lang="en"${colors === null ? "" : ` data-mantine-color-scheme="${colors}"`}>
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="flotilla" content="${escapeHtml(JSON.stringify(info))}">
    <meta name="style-nonce" content="${escapeHtml(nonce)}">
    <title>Flotilla</title>
    <link rel="icon" href="${MARK}">
${bundle.fonts.map((name) => `    <link rel="preload" as="font" type="font/woff2" href="${at(name)}" crossorigin>`).join("\n")}
${bundle.styles.map((name) => `    <link rel="stylesheet" href="${at(name)}">`).join("\n")}
${scripts.map((name) => `    <link rel="modulepreload" href="${at(name)}">`).join("\n")}
  </head>
  <body>
    <div id="app"><p class="app-loading">Loading…</p></div>
    <noscript>The admin UI needs JavaScript. The API is described at /docs.</noscript>
    <script type="module" src="${at(bundle.entry)}"></script>
  </body>
</html>
`;
}

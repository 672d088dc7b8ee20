import type { AttackList } from "#test/support/rigs/attempts.ts";

const XHTML = "http://www.w3.org/1999/xhtml";
const html = (script: string) => `<!doctype html><script>${script}</script>`;
const xml = (script: string) =>
  `<?xml version="1.0"?><html xmlns="${XHTML}"><script>${script}</script></html>`;
const svg = (script: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg"><script>${script}</script></svg>`;
const styled = (script: string) =>
  `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="#s"?><!DOCTYPE r [<!ATTLIST xsl:stylesheet id ID #REQUIRED>]>` +
  `<r><xsl:stylesheet id="s" version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">` +
  `<html><script>${script}</script></html></xsl:template></xsl:stylesheet></r>`;
const mhtml = (script: string) =>
  [
    ...["MIME-Version: 1.0", 'Content-Type: multipart/related; type="text/html"; boundary="b"', ""],
    ...[
      "--b",
      "Content-Type: text/html",
      "Content-Location: http://x.test/",
      "",
      html(script),
      "--b--",
    ],
  ].join("\r\n");
const parts = (script: string) =>
  ["--b", "Content-Type: text/html", "", html(script), "--b--"].join("\r\n");
const pdf = (script: string) =>
  "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(" +
  `${script.replace(/[()\\]/g, "\\$&")})>>>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n` +
  `trailer<</Root 1 0 R>>\n%%EOF\n${html(script)}`;
const js = (script: string) => script;

/** Types of which Chromium runs scripts when a server says nothing more of them. */
export const RUNS = [
  ["text/html", html],
  ["TEXT/HTML; Charset=UTF-8", html],
  ["text/html;x=y;charset=utf-7", html],
  ["application/xhtml+xml", xml],
  ["Application/XHTML+XML; profile=basic", xml],
  ["text/xml", xml],
  ["application/xml; charset=utf-8", xml],
  ["text/xsl", xml],
  ["TeXt/XsL;charset=utf-8", xml],
  ["image/svg+xml", svg],
  ["IMAGE/SVG+XML; q=1", svg],
  ["application/xml", styled],
] as const;

/** What other browsers, older ones or a mistake in ours might run. */
export const MIGHT_RUN = [
  ["application/xslt+xml", xml],
  ["application/rss+xml", xml],
  ["application/atom+xml", xml],
  ["application/mathml+xml", xml],
  ["image/anything+xml", xml],
  ["audio/x+xml", xml],
  ["font/x+xml", xml],
  ["", html],
  ["text", html],
  ["text/html\u0000", html],
  ["text/html, text/plain", html],
  ["text/plain, text/html", html],
  ["text/ html", html],
  ["*/*", html],
  ["unknown/unknown", html],
  ["application/octet-stream", html],
  ["application/x-unknown", html],
  ["text/plain", html],
  ["text/plain; charset=utf-7", html],
  ["image/png", html],
  ["image/x-icon", svg],
  ["video/mp4", html],
  ["audio/mpeg", html],
  ["font/woff2", html],
  ["text/css", html],
  ["text/vtt", html],
  ["text/x-component", html],
  ["text/x-server-parsed-html", html],
  ["application/json", html],
  ["application/manifest+json", html],
  ["application/x-shockwave-flash", html],
  ["multipart/related", mhtml],
  ["message/rfc822", mhtml],
  ["application/x-mimearchive", mhtml],
  ["multipart/x-mixed-replace; boundary=b", parts],
  ["multipart/x-mixed-replace;boundary=b;type=text/html", parts],
  ["text/javascript", js],
  ["application/javascript", html],
  ["application/pdf", pdf],
  ["text/pdf", pdf],
] as const;

/** As the page of an attacker might have them opened: by itself, and within a page of the hub's origin. */
export const TAGS = ["iframe", "object", "embed"] as const;

export const ASSET_TYPES: AttackList = {
  what: "Captured files of types that run scripts, or might, opened from the hub's origin in a real Chromium",
  file: "asset-types.test.ts",
  attempts: [...RUNS, ...MIGHT_RUN].flatMap(([mime, make]) =>
    ["address", ...TAGS].map((way) => `${mime} with ${make.name}, by its ${way}`),
  ),
};

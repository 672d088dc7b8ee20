import type { AttackList } from "#test/support/rigs/attempts.ts";

/** Ways of a page to make its browser load `url` that is no page that somebody goes to, as the text of `(url) => …`. */
export const LOADS: Record<string, string> = {
  "a picture": `(url) => loaded("img", { src: url })`,
  "a picture of a style": `(url) => told(() => { document.body.style.background = "url(" + url + ")"; })`,
  "a script": `(url) => loaded("script", { src: url })`,
  "a module": `(url) => import(url).catch(() => {})`,
  "a style sheet": `(url) => loaded("link", { rel: "stylesheet", href: url })`,
  "a font": `(url) => new FontFace("x", "url(" + url + ")").load().catch(() => {})`,
  "a video": `(url) => loaded("video", { src: url, preload: "auto" }, "onloadedmetadata")`,
  fetch: `(url) => fetch(url, { mode: "no-cors" }).catch(() => {})`,
  "fetch that asks for a page": `(url) => fetch(url, { mode: "no-cors", headers: { accept: "text/html,*/*" } }).catch(() => {})`,
  "fetch that outlives its page": `(url) => fetch(url, { mode: "no-cors", keepalive: true }).catch(() => {})`,
  XMLHttpRequest: `(url) => new Promise((done) => { const x = new XMLHttpRequest(); x.open("GET", url); x.onloadend = done; x.send(); })`,
  "an event stream": `(url) => new Promise((done) => { const e = new EventSource(url); e.onerror = () => { e.close(); done(); }; })`,
  "a prefetch": `(url) => loaded("link", { rel: "prefetch", href: url })`,
  "a prefetch of a page": `(url) => loaded("link", { rel: "prefetch", as: "document", href: url })`,
  "a preload": `(url) => loaded("link", { rel: "preload", as: "fetch", href: url })`,
  "a prerender": `(url) => loaded("link", { rel: "prerender", href: url })`,
  "speculation rules": `(url) => told(() => document.head.append(Object.assign(document.createElement("script"), { type: "speculationrules", textContent: JSON.stringify({ prefetch: [{ urls: [url], eagerness: "immediate" }], prerender: [{ urls: [url + "/prerendered"], eagerness: "immediate" }] }) })))`,
  "an icon": `(url) => told(() => document.head.append(Object.assign(document.createElement("link"), { rel: "icon", href: url })))`,
  "a redirected picture": `(url) => loaded("img", { src: "/redirect?to=" + encodeURIComponent(url) })`,
};
/** What browsers send over plain HTTP exactly as a visit. */
export const UNTOLD: Record<string, string> = {
  "a frame": `(url) => loaded("iframe", { src: url })`,
  "an object": `(url) => loaded("object", { data: url })`,
};

export const VISITS: AttackList = {
  what: "What a page loads by itself, in a real Chromium that reports nothing of the site over plain HTTP: at the GET that makes a job",
  file: "visits.test.ts",
  attempts: Object.keys(LOADS),
};

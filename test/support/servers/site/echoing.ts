/**
 * A site that says what is typed into it wherever a page can: in its console, its errors, its addresses, its titles and
 * its dialogs, in every spelling that programs use. `/quiet` has the same fields and says nothing.
 */

const SAY = `
const html = (text) => { const div = document.createElement("div"); div.textContent = text; return div.innerHTML; };
const base64 = (text) => btoa(unescape(encodeURIComponent(text)));
const spellings = (text) => [
  text, encodeURIComponent(text), encodeURI(text), new URLSearchParams({ q: text }).toString(), JSON.stringify(text),
  html(text), html(text).replaceAll('"', "&quot;").replaceAll("'", "&#39;"), base64(text), base64("user:" + text),
  base64("u:" + text), base64("us:" + text),
  base64(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""),
];
const say = (text) => {
  for (const one of spellings(text)) console.log("typed " + one);
  fetch("http://127.0.0.1:9/gone?" + new URLSearchParams({ q: text })).catch(() => {});
  fetch("/echo?" + new URLSearchParams({ q: text }), { headers: { "x-said": base64(text), authorization: "Basic " + base64("user:" + text) } });
  document.cookie = "said=" + encodeURIComponent(text);
  history.pushState(null, "", "/pushed?" + new URLSearchParams({ q: text }));
  document.title = "typed " + text;
  setTimeout(() => { throw new Error("typed " + text); });
};
word.addEventListener("input", () => console.log("typing " + word.value));
word.addEventListener("change", () => say(word.value));
word.addEventListener("blur", () => say(word.value));
`;

const fields = (
  script: string,
): string => `<!doctype html><title>fields</title><link rel=icon href=data:,>
<form action="/in"><input id=word name=word type=password autofocus></form>
<select id=list><option>a</option></select><input id=dead disabled><p id=other tabindex=0>other</p>
<script>${script}</script>`;

export function serveEchoingSite() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname === "/echo") return new Response("ok", { headers: { "set-cookie": "sid=1" } });
      return new Response(fields(pathname === "/quiet" ? "" : SAY), {
        headers: { "content-type": "text/html" },
      });
    },
  });
}

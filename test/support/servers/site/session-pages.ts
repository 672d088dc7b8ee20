import { utf8 } from "./bytes.ts";
import { type SiteServer, startServer } from "./server.ts";

const page = (title: string, body: string) => ({
  mime: "text/html; charset=utf-8",
  bytes: utf8(
    `<!doctype html><html><head><title>${title}</title></head><body>${body}</body></html>`,
  ),
});

/** A site for the actions of a session: a form, a picture, popups, downloads, dialogs, slow and endless answers. */
export async function startSessionSite(): Promise<SiteServer> {
  const site = await startServer("session.localhost");
  site.body("/", page("Home", '<h1>Home</h1><a href="/second">to the second</a>'));
  site.body("/second", page("Second", "<h1>Second</h1>"));
  site.body(
    "/form",
    page(
      "Form",
      `<input id="name"><input id="box" type="checkbox"><input id="file" type="file" multiple>
       <select id="pick"><option value="a">A</option><option value="b">B</option></select>
       <button id="go" onclick="document.title = 'clicked ' + event.detail + event.button">go</button>
       <div id="hover" onmouseover="document.title = 'hovered'">hover</div>
       <p id="hidden" style="display: none">hidden</p>
       <div style="height: 3000px"></div><p id="end">the end</p>
       <script>onkeydown = (e) => { window.last = e.key; }</script>`,
    ),
  );
  site.body(
    "/article",
    page(
      "Article",
      `<h1>Heading</h1><p>Some <b>bold</b> <a href="/second">link</a>.</p><script>void 0</script>
       <ul><li>one</li><li>two</li></ul><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>
       <pre><code class="language-js">let x = 1;</code></pre>`,
    ),
  );
  site.body(
    "/frames",
    page("Frames", `<p>outside</p><iframe id="outer" src="/frame"></iframe><div id="plain"></div>`),
  );
  site.body("/frame", page("Outer", `<p>outer</p><iframe id="inner" src="/form"></iframe>`));
  site.body(
    "/pointer",
    page(
      "Pointer",
      `<div id="card" draggable="true" ondragstart="event.dataTransfer.setData('text', 'card')">card</div>
       <div id="bin" style="height: 80px" ondragover="event.preventDefault()"
         ondrop="document.title = 'dropped ' + event.dataTransfer.getData('text')">bin</div>
       <div id="pad" style="width: 300px; height: 100px" onclick="document.title = 'at ' + event.offsetX + ' ' + event.offsetY"></div>
       <a id="file" href="/report.txt">report</a>
       <script>
         window.trail = [];
         for (const kind of ["mousedown", "mousemove", "mouseup"])
           addEventListener(kind, (e) => trail.push(kind + " " + e.clientX + " " + e.clientY));
       </script>`,
    ),
  );
  site.body("/popup", page("Opener", `<button onclick="window.open('/second')">open</button>`));
  site.body("/csp", {
    ...page("Strict", "<p>strict</p>"),
    headers: { "content-security-policy": "default-src 'none'; script-src 'none'" },
  });
  site.body("/report.txt", {
    mime: "text/plain",
    bytes: utf8("a report"),
    headers: { "content-disposition": 'attachment; filename="../../report.txt"' },
  });
  site.on("/never", () => {});
  site.on("/cookie", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html", "set-cookie": "seen=yes; Path=/" });
    res.end("<title>Cookie</title>");
  });
  return site;
}

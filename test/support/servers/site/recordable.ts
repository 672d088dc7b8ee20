/** A shop behind a login: fields with labels, roles, test ids, an open shadow root and a frame of another site. */
export interface RecordableSite {
  origin: string;
  user: string;
  password: string;
  /** Bodies of the forms that were sent, in order. */
  sent: Record<string, string>[];
  stop(): Promise<void>;
}

const html = (title: string, body: string): Response =>
  new Response(
    `<!doctype html><html lang="en"><title>${title}</title><style>body{font:16px sans-serif;margin:24px}label,button,p,form{display:block;margin:8px 0}
    iframe{width:420px;height:140px;border:6px solid silver;padding:4px}</style>${body}`,
    { headers: { "content-type": "text/html; charset=utf-8" } },
  );

const LOGIN = `<h1>Sign in</h1>
<form method="post" action="/login">
  <label for="email">Email</label><input id="email" name="email" type="email">
  <label>Password <input name="password" type="password" autocomplete="current-password"></label>
  <button><svg width="12" height="12"><rect width="12" height="12"/></svg> <span>Continue</span></button>
</form>
<p data-testid="hint">Use the harbour's account</p>`;

const shop = (frame_origin: string) => `<h1>Shop</h1>
<form action="/results" method="get">
  <input type="search" name="q" placeholder="Search the shop">
  <label>Size <select name="size"><option value="">Any</option><option value="s">Small</option><option value="m">Medium</option></select></label>
  <label><input type="checkbox" name="stock" value="1"> In stock only</label>
  <button data-testid="go" aria-label="Find"><b>?</b></button>
</form>
<ul><li><button class="x1a2b3c4d">Buy</button></li><li><button class="x1a2b3c4d">Buy</button></li></ul>
<x-menu></x-menu>
<iframe name="notes" title="Notes" src="${frame_origin}/notes"></iframe>
<div role="button" tabindex="0" title="Turn">&#8635;</div>
<script>
customElements.define("x-menu", class extends HTMLElement {
  constructor() {
    super();
    this.attachShadow({ mode: "open" }).innerHTML = "<button>Open the menu</button><output></output>";
    this.shadowRoot.querySelector("button").onclick = () => (this.shadowRoot.querySelector("output").value = "open");
  }
});
</script>`;

const NOTES = `<form onsubmit="return false"><label>Note <textarea name="note"></textarea></label><button>Keep</button></form>`;

/** A password field that a button turns into a plain one, whose text is repeated, in a form whose fields hide its properties. */
const REVEAL = `<form onsubmit="return false">
<input name="id" type="hidden"><input name="labels" type="hidden"><input name="children" type="hidden"><input name="localName" type="hidden">
<input id="entry" type="password"><button id="show" type="button">Show</button><output>–</output>
<button id="odd" type="button" name="two\nlines">Odd</button></form>
<script>
const entry = document.getElementById("entry");
document.getElementById("show").onclick = () => (entry.type = "text");
entry.oninput = () => (document.querySelector("output").textContent = entry.value);
</script>`;

/** A page that opens others: by a link, and by a script that waits before it does. */
const DESK = `<h1>Desk</h1>
<a href="/terms" target="_blank">Read the terms</a>
<button id="pay">Pay</button>
<form action="/note"><label>Note <input name="note"></label><button>Keep the note</button></form>
<script>document.getElementById("pay").onclick = () => setTimeout(() => open("/pay"), 50);</script>`;

const TERMS = `<h1>Terms</h1><form action="/note"><label>Initials <input name="initials"></label><button>Agree</button></form>`;

/** It closes by itself once it has sent what was entered. */
const PAY = `<h1>Pay</h1><form id="card"><label>Purse <input name="purse"></label><button>Confirm</button></form>
<script>document.getElementById("card").onsubmit = async (event) => {
  event.preventDefault();
  await fetch("/note?" + new URLSearchParams(new FormData(event.target)));
  close();
};</script>`;

export function startRecordableSite(): RecordableSite {
  const user = "ada@harbour.example";
  const password = `pw-${crypto.randomUUID()}`;
  const sent: Record<string, string>[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { pathname, searchParams, port } = new URL(request.url);
      if (pathname === "/login" && request.method === "POST") {
        const form = Object.fromEntries(new URLSearchParams(await request.text()));
        sent.push(form);
        const good = form.email === user && form.password === password;
        return Response.redirect(good ? "/shop" : "/login", 303);
      }
      if (pathname === "/shop") return html("Shop", shop(`http://localhost:${port}`));
      if (pathname === "/reveal") return html("Reveal", REVEAL);
      if (pathname === "/desk") return html("Desk", DESK);
      if (pathname === "/terms") return html("Terms", TERMS);
      if (pathname === "/pay") return html("Pay", PAY);
      if (pathname === "/note") {
        sent.push(Object.fromEntries(searchParams));
        return html("Kept", `<h1>Kept</h1><a href="/desk">Back to the desk</a>`);
      }
      if (pathname === "/notes") return html("Notes", NOTES);
      if (pathname === "/results") {
        sent.push(Object.fromEntries(searchParams));
        return html(
          "Results",
          `<h1>Results for ${Bun.escapeHTML(searchParams.get("q") ?? "")}</h1>`,
        );
      }
      return html("Sign in", LOGIN);
    },
  });
  return {
    origin: `http://127.0.0.1:${server.port}`,
    user,
    password,
    sent,
    stop: () => server.stop(true),
  };
}

/** A form with a password field and a plain one that the page repeats, whose answer repeats what it was sent. */
const FORM = `<!doctype html><title>Echo</title><form action=/sent>
<input id=password name=password type=password><input id=plain name=plain><button id=send>Send</button></form>
<p id=echo></p><script>plain.oninput = () => { echo.textContent = "you typed " + plain.value; };</script>`;
export const COOKIE = "k3v9x0a1b2c3d4e5f6";

export const serveEchoForm = () =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const headers = { "content-type": "text/html", "set-cookie": `sid=${COOKIE}` };
      if (pathname !== "/sent") return new Response(FORM, { headers });
      const said = JSON.stringify({ sent: searchParams.get("password"), cookie: COOKIE });
      const html = `<!doctype html><title>Sent</title><h1 id=done>Sent</h1><script>console.log(${said})</script>`;
      return new Response(html, { headers });
    },
  });

const PAGE = `<!doctype html><title>Shop</title><h1>Fruit</h1>
<ul>${["apple", "pear", "plum"].map((name) => `<li class=item>${name}</li>`).join("")}</ul>
<button id=more onclick="this.textContent = 'clicked'">More</button>`;
const LOGIN = `<!doctype html><title>Login</title><form><input name=user><input type=password name=pw></form>`;

/** A page with a list and a button for scripts to work on, and at `/login` one that asks for a login. */
export const serveFruitShop = () =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new Response(new URL(request.url).pathname === "/login" ? LOGIN : PAGE, {
        headers: { "content-type": "text/html" },
      }),
  });

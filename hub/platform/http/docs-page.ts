/**
 * The page of the explorer. It is public and reveals nothing about the API: if a token is set, its script asks for it
 * first.
 */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Flotilla API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon.png">
    <style>
      #login { font: 16px/1.5 sans-serif; max-width: 24rem; margin: 15vh auto 0; padding: 0 1rem; }
      #login h1 { font-size: 1.5rem; }
      #login input, #login button { font: inherit; box-sizing: border-box; width: 100%; padding: .5rem; margin-top: .5rem; }
      #problem { color: #b00020; min-height: 1.5em; }
    </style>
  </head>
  <body>
    <nav class="swagger-ui">
      <p class="wrapper"><a class="link" href="/guide">The guide</a>: how to use Flotilla, and every rule that you may rely on</p>
    </nav>
    <main>
      <div id="swagger-ui"></div>
      <form id="login" hidden>
        <h1>Flotilla API</h1>
        <p>This server asks for its token.</p>
        <label for="token">API token</label>
        <input id="token" type="password" autocomplete="current-password" required maxlength="1000">
        <button>Log in</button>
        <p id="problem" role="alert"></p>
      </form>
    </main>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/**
 * The script of the page. The token is exchanged for a browser login, as in the web app: from then on, a cookie that
 * scripts cannot read goes with every call, even with those that are tried out.
 */
export const DOCS_START = `"use strict";
const form = document.getElementById("login");
const problem = document.getElementById("problem");
const token = document.getElementById("token");

async function show() {
  const answer = await fetch("/openapi.json");
  form.hidden = answer.status !== 401;
  if (answer.status === 401) return token.focus();
  if (!answer.ok) throw new Error("The server answered " + answer.status + ".");
  const spec = await answer.json();
  SwaggerUIBundle({ spec, dom_id: "#swagger-ui", deepLinking: true, docExpansion: "none", filter: true });
}

async function logIn() {
  const answer = await fetch("/ui/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: token.value }),
  });
  if (answer.ok) return show();
  const { detail } = await answer.json().catch(() => ({}));
  throw new Error(
    answer.status === 401
      ? "That is not the token."
      : typeof detail === "string" ? detail : "The server answered " + answer.status + ".",
  );
}

const tell = (err) => {
  form.hidden = false;
  problem.textContent = err.message;
};
form.addEventListener("submit", (event) => {
  event.preventDefault();
  problem.textContent = "";
  logIn().catch(tell);
});
show().catch(tell);
`;

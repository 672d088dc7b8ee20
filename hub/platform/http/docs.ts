import icon from "swagger-ui-dist/favicon-32x32.png" with { type: "file" };
import css from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import bundle from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { access } from "./access.ts";
import { SECURITY_SCHEMES } from "./create-route.ts";
import type { App } from "./new-app.ts";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Flotilla API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon.png">
  </head>
  <body>
    <nav class="swagger-ui">
      <p class="wrapper"><a class="link" href="/guide">The guide</a>: how to use Flotilla, and every rule that you may rely on</p>
    </nav>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;
const START = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true });\n`;

/** Embedded in the compiled binary, so the explorer works without a network. */
const FILES = {
  "/docs/swagger-ui.css": { path: css, type: "text/css; charset=utf-8" },
  "/docs/swagger-ui-bundle.js": { path: bundle, type: "text/javascript; charset=utf-8" },
  "/docs/favicon.png": { path: icon, type: "image/png" },
};

/** The API's description is shown to whoever may use it. */
const VIEW = access({ access: "view" });
const HEADERS = { "Cache-Control": "no-cache" };

/** The explorer's own files, the styles it writes itself and the pictures in them; its calls go to this server alone. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/**
 * `/openapi.json` and its explorer at `/docs`. The document is made on the first call, from every route the app has
 * by then.
 */
export function addDocs(app: App, info: { title: string; version: string; description: string }) {
  let document: string | undefined;
  for (const [name, scheme] of Object.entries(SECURITY_SCHEMES))
    app.openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  app.get("/openapi.json", VIEW, (c) => {
    document ??= JSON.stringify(app.getOpenAPI31Document({ openapi: "3.1.0", info }));
    return c.body(document, 200, { ...HEADERS, "Content-Type": "application/json" });
  });
  app.get("/docs", VIEW, (c) =>
    c.html(PAGE, 200, { ...HEADERS, "Content-Security-Policy": POLICY }),
  );
  app.get("/docs/start.js", VIEW, (c) =>
    c.body(START, 200, { ...HEADERS, "Content-Type": "text/javascript; charset=utf-8" }),
  );
  for (const [path, file] of Object.entries(FILES))
    app.get(
      path,
      VIEW,
      () =>
        new Response(Bun.file(file.path), { headers: { ...HEADERS, "Content-Type": file.type } }),
    );
}

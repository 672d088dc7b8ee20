import icon from "swagger-ui-dist/favicon-32x32.png" with { type: "file" };
import css from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import bundle from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { access } from "./access.ts";
import { type ApiInfo, documentOf, partOf, registerShared } from "./api-document.ts";
import { DOCS_PAGE, DOCS_START } from "./docs-page.ts";
import type { App } from "./new-app.ts";

/** Embedded in the compiled binary, so the explorer works offline. */
const FILES = {
  "/docs/swagger-ui.css": { path: css, type: "text/css; charset=utf-8" },
  "/docs/swagger-ui-bundle.js": { path: bundle, type: "text/javascript; charset=utf-8" },
  "/docs/favicon.png": { path: icon, type: "image/png" },
};

/**
 * The API's description is only for those who may use the API; the page that shows it asks for a token if one is set.
 */
const VIEW = access({ access: "view" });
const PUBLIC = access({ access: "public" });
const HEADERS = { "Cache-Control": "no-cache" };

/**
 * Allows the explorer's own files, the styles that it writes itself and the pictures in them; its calls go only to this
 * server.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** A separate document for clients that use only one side. */
interface Part {
  readonly path: string;
  /** What the paths of this part begin with. */
  readonly prefix: string;
  readonly title: string;
}

/**
 * `/openapi.json`, its parts, and its explorer at `/docs`. The documents are made on the first call, from all routes
 * that the app has by then.
 */
export function addDocs(app: App, info: ApiInfo, parts: readonly Part[]) {
  registerShared(app);
  let made: ReturnType<typeof documentOf> | undefined;
  const whole = () => {
    made ??= documentOf(app, info);
    return made;
  };
  addDocument(app, "/openapi.json", whole);
  for (const { path, prefix, title } of parts)
    addDocument(app, path, () => partOf(whole(), prefix, title));
  app.get("/docs", PUBLIC, (c) =>
    c.html(DOCS_PAGE, 200, { ...HEADERS, "Content-Security-Policy": POLICY }),
  );
  app.get("/docs/start.js", PUBLIC, (c) =>
    c.body(DOCS_START, 200, { ...HEADERS, "Content-Type": "text/javascript; charset=utf-8" }),
  );
  for (const [path, file] of Object.entries(FILES))
    app.get(
      path,
      PUBLIC,
      () =>
        new Response(Bun.file(file.path), { headers: { ...HEADERS, "Content-Type": file.type } }),
    );
}

function addDocument(app: App, path: string, make: () => object): void {
  let text: string | undefined;
  app.get(path, VIEW, (c) => {
    text ??= JSON.stringify(make());
    return c.body(text, 200, { ...HEADERS, "Content-Type": "application/json" });
  });
}

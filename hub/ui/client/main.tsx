import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./app.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { styleNonce } from "./lib/info.ts";
import { startLive } from "./lib/live.ts";
import { queryClient } from "./lib/query.ts";
import { loadPage } from "./pages.tsx";

// Where Mantine's dialogs look for the nonce of the style element that locks the page's scrolling.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

// What an entry exports stays in its file.
export * from "./parts/in-most-pages.ts";

/** The page's file was asked for with this one; where it is late the shell is shown first. */
const PAGE_FILE_MS = 100;

const root = document.getElementById("app");
if (root) {
  startLive(queryClient);
  const late = new Promise((resolve) => setTimeout(resolve, PAGE_FILE_MS));
  // The page itself shows that its file does not come.
  const loaded = loadPage(location.pathname).catch(() => {});
  void Promise.race([loaded, late]).then(() => createRoot(root).render(<App />));
}

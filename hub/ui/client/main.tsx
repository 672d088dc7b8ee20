import "./styles.ts";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { startDensity } from "./lib/density.ts";
import { login, lookWho } from "./lib/http.ts";
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

/** The link that dev mode prints; its code is of no more use, and gone from the address. */
async function enter(): Promise<void> {
  const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return void lookWho().catch(() => {});
  history.replaceState(null, "", location.pathname);
  // Used before, or too old: then the page asks as it always does.
  if ((await login({ code }).catch(() => "unreachable")) !== null) await lookWho().catch(() => {});
}

startDensity();
const root = document.getElementById("app");
if (root) {
  await enter();
  startLive(queryClient);
  const late = new Promise((resolve) => setTimeout(resolve, PAGE_FILE_MS));
  // The page itself shows that its file does not come.
  const loaded = loadPage(location.pathname).catch(() => {});
  void Promise.race([loaded, late]).then(() => createRoot(root).render(<App />));
}

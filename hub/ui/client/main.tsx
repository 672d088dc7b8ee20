import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./app.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { styleNonce } from "./lib/info.ts";
import { startLive } from "./lib/live.ts";
import { queryClient } from "./lib/query.ts";

// Where Mantine's dialogs look for the nonce of the style element that locks the page's scrolling.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

const root = document.getElementById("app");
if (root) {
  startLive(queryClient);
  createRoot(root).render(<App />);
}

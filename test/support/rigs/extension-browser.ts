import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BrowserContext,
  type ConnectOverCDPTransport,
  chromium,
  type Worker,
} from "playwright-core";
import { CHROMIUM_FLAGS, chromiumPath } from "./chromium.ts";
import { until } from "./fleet-process.ts";

/** A person's own Chromium with the cookie-sync extension, as it was downloaded from a hub. */
export interface ExtensionBrowser {
  context: BrowserContext;
  /** The extension's service worker. */
  worker: Worker;
  /** Its pages lie below `chrome-extension://<id>/`. */
  id: string;
  /** Opens the popup over the tab in front, as a click on the extension's button does, and runs `script` in it. */
  inPopup<T>(script: string): Promise<T>;
  close(): Promise<void>;
}

/** Downloads the unpacked extension from `hub_url` and starts Chromium with it. */
export async function openExtensionBrowser(hub_url: string): Promise<ExtensionBrowser> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-extension-"));
  const folder = join(dir, "extension");
  mkdirSync(folder);
  const page = await (await fetch(`${hub_url}/profiles/extension/install`)).text();
  for (const [, path = "", name = ""] of page.matchAll(
    /href="(\/profiles\/extension\/files\/([^"]+))"/g,
  ))
    await Bun.write(join(folder, name), await fetch(hub_url + path));
  const user_data = join(dir, "user-data");
  const child = Bun.spawn(
    [
      chromiumPath(),
      "--headless=new",
      ...CHROMIUM_FLAGS,
      "--disable-features=DisableLoadExtensionCommandLineSwitch",
      "--remote-debugging-port=0",
      `--user-data-dir=${user_data}`,
      `--load-extension=${folder}`,
      `--disable-extensions-except=${folder}`,
      "about:blank",
    ],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore", env: { ...process.env, HOME: dir } },
  );
  const close = async () => {
    child.kill("SIGTERM");
    await child.exited;
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const file = Bun.file(join(user_data, "DevToolsActivePort"));
    const lines = await until("the debugging port", 60_000, async () => {
      const text = await file.text().catch(() => "");
      return text.includes("\n") && text.split("\n");
    });
    const socket = new WebSocket(`ws://127.0.0.1:${lines[0]}${lines[1]}`);
    const transport: ConnectOverCDPTransport = {
      send: (message) => socket.send(JSON.stringify(message)),
      close: () => socket.close(),
    };
    socket.onmessage = ({ data }) => transport.onmessage?.(JSON.parse(String(data)) as object);
    socket.onclose = () => transport.onclose?.();
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });
    const browser = await chromium.connectOverCDP(transport, {
      noDefaults: true,
      artifactsDir: dir,
    });
    const [context] = browser.contexts();
    if (!context) throw new Error("no context");
    const worker = await until("the extension's service worker", 60_000, () =>
      context.serviceWorkers().find((w) => w.url().endsWith("/service-worker.js")),
    );
    const id = new URL(worker.url()).host;
    const base = `127.0.0.1:${lines[0]}`;
    const inPopup = async <T>(script: string): Promise<T> => {
      await worker.evaluate("chrome.action.openPopup()");
      const target = await until("the popup", 60_000, async () => {
        const targets = (await (await fetch(`http://${base}/json/list`)).json()) as Target[];
        return targets.find((t) => t.url === `chrome-extension://${id}/popup.html`);
      });
      try {
        return await evaluateIn<T>(target.webSocketDebuggerUrl, script);
      } finally {
        await fetch(`http://${base}/json/close/${target.id}`);
      }
    };
    return { context, worker, id, inPopup, close };
  } catch (err) {
    await close();
    throw err;
  }
}

interface Target {
  id: string;
  url: string;
  webSocketDebuggerUrl: string;
}

/** Playwright does not see the popup of an extension: it is a page without a tab. */
async function evaluateIn<T>(url: string, script: string): Promise<T> {
  const socket = new WebSocket(url);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  socket.onopen = () =>
    socket.send(
      JSON.stringify({
        id: 1,
        method: "Runtime.evaluate",
        params: { expression: script, awaitPromise: true, returnByValue: true, userGesture: true },
      }),
    );
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    if (id !== 1) return;
    if (result.exceptionDetails) reject(new Error(JSON.stringify(result.exceptionDetails)));
    else resolve(result.result.value as T);
  };
  socket.onclose = () => reject(new Error("the popup closed"));
  try {
    return await promise;
  } finally {
    socket.close();
  }
}

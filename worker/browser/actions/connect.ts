import type { Browser, BrowserContext, ConnectOverCDPTransport, Page } from "playwright-core";
import { withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { followChildren, type Message } from "../cdp/child-targets.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { splitCallLog } from "./failure.ts";

/**
 * A lane's Chromium through Playwright, over a debugging connection of its own in addition to the pipe that records.
 */
export interface ConnectedBrowser {
  context: BrowserContext;
  /** @throws Error when there is no such page, or it is gone. */
  page(target_id: string): Promise<Page>;
  /** Resolves when the connection is over, whether or not that was requested. */
  readonly closed: Promise<void>;
  /** Disconnects from the browser, which goes on as it is. Idempotent. */
  close(): void;
}

let loading: Promise<typeof import("playwright-core")> | undefined;

/**
 * Loads Playwright only when it is needed: it costs 75 MB and 0.2 s of CPU (1 s on a busy machine), which plain
 * fetch jobs save.
 */
export const loadPlaywright = () => (loading ??= import("playwright-core"));

/** Measured 12–25 ms on an idle machine; a busy one may take a thousand times as long. */
const CONNECT_MS = 30_000;

/**
 * Connects Playwright to the browser's debugging port. This changes nothing in the browser: no emulation, no download
 * behaviour, no viewport. `artifacts_dir`: where Playwright may put files.
 * @throws Error, DeadlineError
 */
export async function connectBrowser(
  browser: LaneBrowser,
  artifacts_dir = browser.dirs.tmp,
): Promise<ConnectedBrowser> {
  const { chromium } = await loadPlaywright();
  const link = await withDeadline("the debugging port", CONNECT_MS, openTransport(browser));
  let connected: Browser;
  try {
    const connecting = chromium.connectOverCDP(link.transport, {
      noDefaults: true,
      artifactsDir: artifacts_dir,
      timeout: CONNECT_MS,
    });
    connected = await withDeadline("Playwright", CONNECT_MS, connecting);
  } catch (err) {
    link.close();
    const { text } = splitCallLog(errorMessage(err));
    throw new Error(`Playwright could not connect to Chromium: ${text}`);
  }
  const [context] = connected.contexts();
  if (!context) {
    link.close();
    throw new Error("Chromium has no context");
  }
  const closed = new Promise<void>((resolve) => {
    connected.once("disconnected", () => resolve());
  });
  return { context, page: (target_id) => findPage(context, target_id), closed, close: link.close };
}

interface BrowserTold extends Message {
  id?: number;
  result?: { targetInfo: { targetId: string } };
}

/**
 * A new target is held until the first of its debuggers releases it. That must be the recorder, once it sees the
 * network: on a busy machine, a popup that Playwright released lost its document.
 */
function answerOf({ id, sessionId, method }: Message): Message | null {
  return method === "Runtime.runIfWaitingForDebugger" ? { id, sessionId, result: {} } : null;
}

/**
 * Nobody would release what Playwright itself holds, and pages that open windows must not be stopped
 * (`cdp/attach.ts`).
 */
function withoutPause(message: Message, browser_id: string): Message {
  if (message.method !== "Target.setAutoAttach") return message;
  return {
    ...message,
    method: "Target.autoAttachRelated",
    params: { targetId: browser_id, waitForDebuggerOnStart: false },
  };
}

/** Bun's own WebSocket: Playwright's would load a second implementation into the process. */
async function openTransport({
  cdp_url,
  connection,
}: LaneBrowser): Promise<{ transport: ConnectOverCDPTransport; close(): void }> {
  const socket = new WebSocket(cdp_url);
  const transmit = (message: Message) => socket.send(JSON.stringify(message));
  const children = followChildren(connection, transmit);
  let browser_id = "";
  const transport: ConnectOverCDPTransport = {
    send: (command) => {
      const message = command as Message;
      if (message.method === "Target.createTarget") connection.asked_tabs.expect();
      const answer = answerOf(message) ?? children.answer(message);
      if (answer === null) transmit(withoutPause(message, browser_id));
      else queueMicrotask(() => transport.onmessage?.(answer));
    },
    close: () => socket.close(),
  };
  // Playwright counts from 1.
  const question = { id: 0, method: "Target.getTargetInfo" };
  browser_id = await new Promise<string>((resolve, reject) => {
    socket.onopen = () => transmit(question);
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as BrowserTold;
      if (id === question.id) resolve(result?.targetInfo.targetId ?? "");
    };
    socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
  });
  socket.onmessage = ({ data }) => {
    const message = children.hear(JSON.parse(String(data)) as Message);
    // The session answers dialogs; without a listener Playwright would dismiss them.
    if (message !== null && message.method !== "Page.javascriptDialogOpening")
      transport.onmessage?.(message);
  };
  socket.onclose = () => {
    children.stop();
    transport.onclose?.();
  };
  return { transport, close: () => socket.close() };
}

async function findPage(context: BrowserContext, target_id: string): Promise<Page> {
  // A page that was closed meanwhile is not the one.
  for (const page of context.pages())
    if ((await targetOf(context, page).catch(() => null)) === target_id) return page;
  throw new Error("the page is gone");
}

/** CDP target id of a page. */
export async function targetOf(context: BrowserContext, page: Page): Promise<string> {
  const session = await context.newCDPSession(page);
  const { targetInfo } = await session.send("Target.getTargetInfo");
  await session.detach();
  return targetInfo.targetId;
}

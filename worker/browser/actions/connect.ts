import type { Browser, BrowserContext, ConnectOverCDPTransport, Page } from "playwright-core";
import { withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { LaneBrowser } from "../lanes/types.ts";
import { splitCallLog } from "./failure.ts";

/** A lane's Chromium through Playwright. It has a debugging connection of its own, beside the pipe that records. */
export interface ConnectedBrowser {
  context: BrowserContext;
  /** @throws Error when there is no such page (any more). */
  page(target_id: string): Promise<Page>;
  /** Resolves when the connection is over, asked for or not. */
  readonly closed: Promise<void>;
  /** Lets go of the browser, which goes on as it is. Idempotent. */
  close(): void;
}

let loading: Promise<typeof import("playwright-core")> | undefined;

/** Reads Playwright when it is needed: 75 MB and 0.2 s of CPU (1 s on a busy machine) that a plain fetch job does without. */
export const loadPlaywright = () => (loading ??= import("playwright-core"));

/** Measured 12–25 ms on an idle machine. */
const CONNECT_MS = 10_000;

/**
 * Connects Playwright to the browser's debugging port. Nothing of the browser is changed by it: no emulation, no
 * behaviour of downloads, no viewport.
 * @throws Error, DeadlineError
 */
export async function connectBrowser(browser: LaneBrowser): Promise<ConnectedBrowser> {
  const { chromium } = await loadPlaywright();
  const link = await withDeadline("the debugging port", CONNECT_MS, openTransport(browser));
  let connected: Browser;
  try {
    const connecting = chromium.connectOverCDP(link.transport, {
      noDefaults: true,
      artifactsDir: browser.dirs.tmp,
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

interface BrowserTold {
  id?: number;
  result?: { targetInfo: { targetId: string } };
}

interface Command {
  id?: number;
  sessionId?: string;
  method?: string;
  params?: object;
}

/**
 * A new target is held until one of its debuggers lets it go, whichever is first. That is the recorder's to do, once it
 * sees the network: a popup that Playwright had let go lost its document on a busy machine.
 */
function answerOf({ id, sessionId, method }: Command): object | null {
  return method === "Runtime.runIfWaitingForDebugger" ? { id, sessionId, result: {} } : null;
}

/** Nobody would let go of what Playwright itself holds, and pages that open windows run on (`cdp/attach.ts`). */
function withoutPause(message: Command, browser_id: string): Command {
  if (message.method !== "Target.setAutoAttach") return message;
  const waits = { waitForDebuggerOnStart: false };
  if (message.sessionId !== undefined)
    return { ...message, params: { ...message.params, ...waits } };
  return {
    ...message,
    method: "Target.autoAttachRelated",
    params: { targetId: browser_id, ...waits },
  };
}

/** Bun's own WebSocket: Playwright's would bring a second implementation of it into the process. */
async function openTransport({
  cdp_url,
  connection,
}: LaneBrowser): Promise<{ transport: ConnectOverCDPTransport; close(): void }> {
  const socket = new WebSocket(cdp_url);
  let browser_id = "";
  const transport: ConnectOverCDPTransport = {
    send: (message) => {
      if ((message as Command).method === "Target.createTarget") connection.asked_tabs.expect();
      const answer = answerOf(message);
      if (answer === null) socket.send(JSON.stringify(withoutPause(message, browser_id)));
      else queueMicrotask(() => transport.onmessage?.(answer));
    },
    close: () => socket.close(),
  };
  // Playwright counts from 1.
  const question = { id: 0, method: "Target.getTargetInfo" };
  browser_id = await new Promise<string>((resolve, reject) => {
    socket.onopen = () => socket.send(JSON.stringify(question));
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as BrowserTold;
      if (id === question.id) resolve(result?.targetInfo.targetId ?? "");
    };
    socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
  });
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(String(data)) as Command;
    // A dialog is the session's to answer: Playwright would dismiss it.
    if (message.method !== "Page.javascriptDialogOpening") transport.onmessage?.(message);
  };
  socket.onclose = () => transport.onclose?.();
  return { transport, close: () => socket.close() };
}

async function findPage(context: BrowserContext, target_id: string): Promise<Page> {
  // One that was closed meanwhile is not it.
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

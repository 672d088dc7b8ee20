import type { Display } from "#worker/browser/lanes/display.ts";
import type { BrowserExit } from "#worker/browser/lanes/lane-browser.ts";
import type { StartedBrowser } from "#worker/browser/process/launch.ts";

export interface FakeBrowser extends StartedBrowser {
  /** Ends it as a crash would. */
  crash(): void;
  /** Answers pings, or leaves them to fail. */
  answers: boolean;
  /** Called at each ping. */
  onPing(): void;
  removed: boolean;
}

const CRASH: BrowserExit = { code: null, signal: "SIGKILL", log_tail: "", ended_for: null };

/** What a lane sees of a Chromium, without one. */
export function createFakeBrowser(headless: boolean): FakeBrowser {
  const exited = Promise.withResolvers<BrowserExit>();
  const closed = Promise.withResolvers<void>();
  const end = async () => {
    closed.resolve();
    exited.resolve(CRASH);
  };
  const kill = async () => {
    await end();
    browser.removed = true;
  };
  const ping = async () => {
    browser.onPing();
    if (!browser.answers) throw new Error("no answer");
  };
  const browser: FakeBrowser = {
    // The lane uses nothing else of a connection.
    connection: {
      closed: closed.promise,
      heard: 0,
      root: { send: ping },
    } as unknown as StartedBrowser["connection"],
    // No process has this number, so nothing is measured.
    pid: 2 ** 22 + 1,
    cdp_port: 9,
    cdp_url: "ws://127.0.0.1:1/devtools/browser/fake",
    tag: "fake:0-0",
    product: "Chrome/156.0.1.2",
    user_agent: "",
    headless,
    sandbox: "off",
    capture: "durable",
    gate: null,
    dirs: { root: "", user_data: "", tmp: "", downloads: "", spool: "" },
    exited: exited.promise,
    kill,
    killNow: kill,
    endProcesses: end,
    shutDown: end,
    crash: () => void end(),
    answers: true,
    onPing: () => {},
    removed: false,
  };
  return browser;
}

export interface FakeDisplay extends Display {
  crash(): void;
  stopped: boolean;
  greets: boolean;
  /** Of its screen; a viewer would write it. */
  size: { width: number; height: number };
  /** Follows no call to resize. */
  stuck: boolean;
}

export function createFakeDisplay(): FakeDisplay {
  const exited = Promise.withResolvers<BrowserExit>();
  const display: FakeDisplay = {
    name: ":1",
    authority: new Uint8Array(),
    pid: 2 ** 22 + 2,
    exited: exited.promise,
    greet: async () => {
      if (!display.greets) throw new Error("VNC greeting timed out");
    },
    resize: async (size) => {
      if (display.stuck) throw new Error("the VNC server does not do it");
      display.size = size;
    },
    filled: async () => {},
    stop: async () => {
      display.stopped = true;
      exited.resolve(CRASH);
    },
    crash: () => exited.resolve(CRASH),
    stopped: false,
    greets: true,
    size: { width: 1_920, height: 1_080 },
    stuck: false,
  };
  return display;
}

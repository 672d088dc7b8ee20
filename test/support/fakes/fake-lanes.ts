import type { Lane } from "#shared/protocol/schema/worker.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import type { LanePool } from "#worker/browser/lanes/pool.ts";

export interface FakePool extends LanePool {
  /** Lanes whose reset is held back until `letReset` is called; none by default. */
  holdResets(): void;
  letReset(): void;
  closed: boolean;
  /** Makes every later `browser()` call fail. */
  failBrowser(message: string): void;
}

/** A command's answer; the session's watch asks for the browser's own target. */
const answer = async (method: string) =>
  method === "Target.getTargetInfo" ? { targetInfo: { targetId: "browser" } } : {};

/** What run-job reads of a browser; runs themselves are fakes too and touch nothing else. */
const fakeBrowser = (headless: boolean): LaneBrowser =>
  ({
    product: "Chrome/156.0.1.2",
    headless,
    sandbox: "off",
    pid: 0,
    dirs: { root: "", user_data: "", tmp: "", downloads: "", spool: "" },
    exited: new Promise(() => {}),
    connection: {
      root: { on: () => () => {}, send: answer, post: () => {}, is_closed: false },
      closed: new Promise(() => {}),
      startOver: async () => {},
      session: () => null,
    },
  }) as unknown as LaneBrowser;

/** Lanes without browsers, with the states and reports of the real pool. */
export function createFakePool(count = 2): FakePool {
  const lanes: Lane[] = [...Array(count).keys()].map((lane_idx) => ({
    lane_idx,
    state: "warm",
    session_id: null,
    job_id: null,
    mode: "headful",
    sandbox: "off",
    reason: null,
  }));
  const listeners = new Set<(lane: Lane) => void>();
  let resets: PromiseWithResolvers<void> | null = null;
  let failure: string | null = null;
  const change = (lane_idx: number, to: Partial<Lane>) => {
    const lane = Object.assign({}, lanes[lane_idx], to);
    lanes[lane_idx] = lane;
    for (const listener of listeners) listener(lane);
  };
  const pool: FakePool = {
    lanes: () => [...lanes],
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    product: "Chrome/156.0.1.2",
    capture: "durable",
    hold: (lane_idx, { job_id, session_id }) => {
      if (lanes[lane_idx]?.state !== "warm") return null;
      change(lane_idx, { state: "running", job_id, session_id });
      const reset = async () => {
        change(lane_idx, { state: "resetting" });
        await resets?.promise;
        change(lane_idx, { state: "warm", job_id: null, session_id: null });
      };
      let released: Promise<void> | undefined;
      return {
        lane_idx,
        browser: async ({ headless }) => {
          if (failure !== null) throw new Error(failure);
          return fakeBrowser(headless);
        },
        restart: async () => fakeBrowser(false),
        release: () => (released ??= reset()),
      };
    },
    resizeScreen: async () => {},
    vncSecret: () => "",
    close: async () => {
      pool.closed = true;
    },
    holdResets: () => {
      resets = Promise.withResolvers();
    },
    letReset: () => {
      resets?.resolve();
      resets = null;
    },
    closed: false,
    failBrowser: (message) => {
      failure = message;
    },
  };
  return pool;
}

import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { callWithin } from "#shared/kit/call-within.ts";
import { DeadlineError, setDeadline, systemClock } from "#shared/kit/clock.ts";
import { createFrameReader, encodeFrame, frameHeader, OPCODE } from "#shared/kit/ws-frames.ts";
import { MAX_CDP_FRAME_BYTES } from "#shared/protocol/limits.ts";
import type { CdpClient } from "../session/cdp-clients.ts";
import { EVENT_PREFIX, hearCommand, hearEvent } from "./cdp-follow.ts";
import { type GuardRules, judgeMessage } from "./cdp-guard.ts";
import { createFrameGaps } from "./frame-gap.ts";

/** The browser is on this machine. */
const ANSWER_MS = 3_000;
const ANSWER = "the browser's debugging port";
const HEAD_END = "\r\n\r\n";
const MAX_HEAD_BYTES = 16 * 1024;
/** Limit of an event about one target; some contain URLs of megabytes. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;
const CLOSE_NORMAL = Buffer.from([1000 >> 8, 1000 & 255]);

/** What Chromium serves at /json/… of its debugging port. @throws when it does not answer in time. */
export const askBrowser = (port: number, path: string): Promise<unknown> =>
  callWithin(systemClock, { what: ANSWER, ms: ANSWER_MS }, async (signal) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal });
    if (!answer.ok) throw new Error(`the browser answered ${answer.status}`);
    return answer.json();
  });

/** Path of the browser's own target: it has a new one after every start. */
export async function browserPath(port: number): Promise<string> {
  const { webSocketDebuggerUrl } = (await askBrowser(port, "/json/version")) as Record<
    string,
    string
  >;
  return new URL(webSocketDebuggerUrl ?? "").pathname;
}

/**
 * A WebSocket to a target of the lane's browser as the bytes after its handshake: frames, unmasked from the browser and
 * masked to it. @throws when the target is not there or does not answer in time.
 */
export function dialTarget(port: number, path: string): Promise<Socket> {
  return new Promise((done, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    let head: Buffer = Buffer.alloc(0);
    const settle = (err: Error | null) => {
      cancel();
      socket.removeAllListeners();
      if (err === null) return done(socket);
      socket.on("error", () => {});
      socket.destroy();
      reject(err);
    };
    const cancel = setDeadline(ANSWER_MS, () => settle(new DeadlineError(ANSWER, ANSWER_MS)));
    socket.once("error", (err) => settle(err));
    socket.once("close", () => settle(new Error("the browser closed the connection")));
    socket.once("connect", () =>
      socket.write(
        [
          `GET ${path} HTTP/1.1`,
          `Host: 127.0.0.1:${port}`,
          "Connection: Upgrade",
          "Upgrade: websocket",
          "Sec-WebSocket-Version: 13",
          `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
        ].join("\r\n") + HEAD_END,
      ),
    );
    socket.on("data", (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(HEAD_END);
      if (end < 0 && head.length <= MAX_HEAD_BYTES) return;
      const status = /^HTTP\/1\.1 ([0-9]{3})/.exec(head.toString("latin1", 0, 64))?.[1];
      if (status !== "101") return settle(new Error(`the browser answered ${status}`));
      socket.pause();
      const rest = head.subarray(end + HEAD_END.length);
      settle(null);
      if (rest.length > 0) socket.unshift(rest);
    });
  });
}

/**
 * One CDP client (through the hub, WebSocket frames in both directions) and the browser. The browser's bytes go through
 * untouched; the client's commands are judged one by one. Either end's close is the other's; the browser lives on.
 * `known`: what the session must know about the client; the client has left when this connection ends.
 */
export function relayCdp(
  client: Duplex,
  browser: Duplex,
  rules: GuardRules,
  known: CdpClient,
): void {
  const browser_ui = new Set<string>();
  const guarded = { ...rules, browser_ui };
  const hear = new Map([[EVENT_PREFIX, (text: string) => hearEvent(known, text, browser_ui)]]);
  const gaps = createFrameGaps({ hear, max_bytes: MAX_EVENT_BYTES });
  const answers = weaveIn(client, gaps);
  let closing = false;

  const finish = () => {
    closing = true;
    browser.destroy();
    client.end(encodeFrame(OPCODE.close, CLOSE_NORMAL, false));
  };
  const forward = (payload: Buffer) => {
    const release = hearCommand(known, payload);
    if (release === null) return write(payload);
    hearOnce(hear, release.answer, release.answered);
    if (release.wait === null) return write(payload);
    // Later commands continue: only this target waits.
    void release.wait.then(() => browser.destroyed || write(payload));
  };
  const write = (payload: Uint8Array) => {
    browser.cork();
    browser.write(frameHeader(OPCODE.text, payload.length, true));
    const taken = browser.write(payload);
    browser.uncork();
    if (!taken) client.pause();
  };
  const reader = createFrameReader(MAX_CDP_FRAME_BYTES, ({ opcode, payload }) => {
    if (closing) return;
    if (opcode === OPCODE.close) return finish();
    if (opcode !== OPCODE.text) return;
    const verdict = judgeMessage(payload, guarded);
    if (verdict.kind === "pass") return forward(Buffer.from(payload));
    if (verdict.kind === "send") return forward(Buffer.from(verdict.text));
    answers.say(verdict.text);
    if (verdict.close) finish();
  });

  client.on("data", (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch {
      client.destroy();
    }
  });
  browser.on("drain", () => client.resume());
  browser.on("data", (chunk: Buffer) => {
    if (!answers.pass(chunk)) browser.pause();
  });
  client.on("drain", () => browser.resume());
  browser.on("end", () => client.end());
  client.on("end", () => client.destroy());
  browser.once("close", known.leave);
  for (const [from, to] of [
    [client, browser],
    [browser, client],
  ] as const) {
    from.on("close", () => {
      if (!(closing && from === browser)) to.destroy();
    });
    from.on("error", () => to.destroy());
    from.resume();
  }
}

function hearOnce(
  hear: Map<Buffer, (text: string) => void>,
  prefix: Buffer,
  heard: () => void,
): void {
  hear.set(prefix, () => {
    hear.delete(prefix);
    heard();
  });
}

/** Writes the browser's bytes to the client, and frames of our own between two of the browser's. */
function weaveIn(client: Duplex, gaps: ReturnType<typeof createFrameGaps>) {
  /** Our own frames that wait for the end of the browser's current one. */
  let own: Buffer[] = [];
  return {
    say: (text: string): void => {
      const frame = encodeFrame(OPCODE.text, Buffer.from(text), false);
      if (gaps.between) client.write(frame);
      else own.push(frame);
    },
    /** False when the client takes no more for now. */
    pass: (chunk: Buffer): boolean => {
      const gap = gaps.lastGap(chunk);
      if (own.length === 0 || gap < 0) return client.write(chunk);
      const waiting = own;
      own = [];
      let taken = true;
      for (const piece of [chunk.subarray(0, gap), ...waiting, chunk.subarray(gap)])
        if (piece.length > 0) taken = client.write(piece);
      return taken;
    },
  };
}

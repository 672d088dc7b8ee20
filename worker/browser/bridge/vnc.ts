import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createTurns } from "#shared/kit/turns.ts";
import { createVncFront } from "#shared/protocol/rfb-handshake.ts";
import { dialVnc } from "../lanes/dial-vnc.ts";
import { relayBytes } from "./relay.ts";

/**
 * Opens one connection at a time: Xvnc's queue of new ones is short, and those that do not fit are retried seconds
 * later.
 * @param secret password of the lane's VNC server as it runs now; null when it needs none.
 */
export function createVncDialer(port: number, secret: () => string | null): () => Promise<Socket> {
  const inTurn = createTurns<number>();
  return () => inTurn(port, () => dialVnc(port, secret()));
}

/** Shows a viewer the screen of a server that has accepted us, as a server without a password. */
export function showVnc(viewer: Duplex, vnc: Socket): void {
  const front = createVncFront();
  const end = () => void vnc.destroy();
  const left = () => void viewer.destroy();
  const shake = (chunk: Buffer) => {
    try {
      const { say, rest } = front.push(chunk);
      for (const bytes of say) viewer.write(bytes);
      if (rest === null) return;
      viewer.off("data", shake);
      viewer.off("close", end);
      vnc.off("close", left);
      viewer.pause();
      if (rest.length > 0) viewer.unshift(rest);
      relayBytes(viewer, vnc);
    } catch {
      viewer.destroy();
    }
  };
  viewer.once("close", end);
  vnc.on("error", left);
  vnc.once("close", left);
  viewer.on("data", shake);
  viewer.write(front.greeting);
  viewer.resume();
}

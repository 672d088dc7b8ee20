import { connect, type Socket } from "node:net";
import { DeadlineError } from "#shared/clock.ts";
import { createTurns } from "#shared/turns.ts";

/** Ours: as long as a lane's own health check gives it. */
const GREETING_MS = 3_000;

/** One connection at a time: Xvnc's queue of new ones is short, and what does not fit is tried again seconds later. */
export function createVncDialer(port: number): () => Promise<Socket> {
  const inTurn = createTurns<number>();
  return () => inTurn(port, () => dialVnc(port));
}

/**
 * A connection of its own to the lane's VNC server, which has greeted; the greeting is still to be read. Viewers share
 * the screen, not the connection, so a slow one holds up nobody.
 * @throws when it does not greet within 3 s.
 */
function dialVnc(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    const fail = (err: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(err);
    };
    const timer = setTimeout(
      () => fail(new DeadlineError("VNC greeting", GREETING_MS)),
      GREETING_MS,
    );
    const closed = () => fail(new Error("VNC connection closed without a greeting"));
    socket.once("error", fail);
    socket.once("close", closed);
    socket.once("data", (greeting: Buffer) => {
      if (!greeting.toString("latin1").startsWith("RFB "))
        return fail(new Error("not a VNC server"));
      clearTimeout(timer);
      socket.off("error", fail);
      socket.off("close", closed);
      socket.pause();
      socket.unshift(greeting);
      resolve(socket);
    });
  });
}

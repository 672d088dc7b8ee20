import { connect, type Socket } from "node:net";
import { DeadlineError, setDeadline } from "#shared/kit/clock.ts";
import { createVncEntrance } from "#shared/protocol/rfb-handshake.ts";

/** The same deadline as in a lane's own health check. */
const GREETING_MS = 15_000;

/**
 * Opens a separate, authenticated connection to a lane's VNC server; next, the client must say whether it shares the
 * screen. Viewers share the screen, not the connection, so a slow one holds up nobody else.
 * @throws when the server has not accepted it within 15 s.
 */
export function dialVnc(port: number, secret: string | null): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    const enter = createVncEntrance(secret);
    let said: Buffer = Buffer.alloc(0);
    const fail = (err: Error) => {
      cancel();
      socket.destroy();
      reject(err);
    };
    const cancel = setDeadline(GREETING_MS, () =>
      fail(new DeadlineError("VNC greeting", GREETING_MS)),
    );
    const closed = () => fail(new Error("VNC connection closed during its greeting"));
    const data = (chunk: Buffer) => {
      said = Buffer.concat([said, chunk]);
      try {
        const rest = enter(said, (bytes) => void socket.write(bytes));
        if (rest === null) return;
        cancel();
        socket.off("error", fail);
        socket.off("close", closed);
        socket.off("data", data);
        socket.pause();
        if (rest.length > 0) socket.unshift(rest);
        resolve(socket);
      } catch (err) {
        fail(err as Error);
      }
    };
    socket.once("error", fail);
    socket.once("close", closed);
    socket.on("data", data);
  });
}

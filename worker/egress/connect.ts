import type { OpenSocket } from "./reach.ts";
import type { End, GateSocket } from "./tunnel.ts";

/** What a socket is told before its tunnel has it. */
export class Waiting implements End {
  readonly early: Buffer[] = [];
  gone: { err: Error | undefined } | null = null;

  data(chunk: Buffer): void {
    this.early.push(chunk);
  }
  drain(): void {}
  closed(err: Error | undefined): void {
    this.gone = { err };
  }
}

/** One set of handlers for all sockets of all gates: each says itself what it does. */
export const HANDLERS = {
  data: ({ data }: GateSocket, chunk: Buffer) => data.data(chunk),
  drain: ({ data }: GateSocket) => data.drain(),
  close: ({ data }: GateSocket, err?: Error) => data.closed(err),
  error: () => {},
};

/** Opens a socket to an address; one that was given up is closed as soon as it stands. */
export const openSocket: OpenSocket<GateSocket> = (address, port) => {
  let abandoned = false;
  const opened = Bun.connect<End>({
    hostname: address,
    port,
    data: new Waiting(),
    socket: { ...HANDLERS, connectError: () => {} },
  });
  opened.then(
    (socket) => abandoned && socket.terminate(),
    () => {},
  );
  return {
    opened,
    abandon: () => {
      abandoned = true;
    },
  };
};

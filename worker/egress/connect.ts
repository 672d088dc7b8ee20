import type { End, GateSocket } from "./gate-socket.ts";
import { EgressError, type OpenSocket } from "./reach.ts";

/** Handles a socket's events until its tunnel takes over. */
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

/** One set of handlers for all sockets of all gates: each socket carries its own behaviour. */
export const HANDLERS = {
  data: ({ data }: GateSocket, chunk: Buffer) => data.data(chunk),
  drain: ({ data }: GateSocket) => data.drain(),
  close: ({ data }: GateSocket, err?: Error) => data.closed(err),
  error: () => {},
};

/** Opens a socket of this machine that has a path. @throws when nobody listens there. */
export const openUnixSocket = (path: string): Promise<GateSocket> =>
  Bun.connect<End>({
    unix: path,
    data: new Waiting(),
    socket: { ...HANDLERS, connectError: () => {} },
  });

/** Opens a socket to an address; one that was given up is closed as soon as it is open. */
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

/** The same with TLS to `server_name`; ready once the certificate has been verified. */
export const openTlsSocket =
  (server_name: string): OpenSocket<GateSocket> =>
  (address, port) => {
    let abandoned = false;
    const { promise, resolve, reject } = Promise.withResolvers<GateSocket>();
    const closed = () => reject(new EgressError("connection_reset", `${address}:${port} hung up`));
    const greeting: End = { data: () => {}, drain: () => {}, closed };
    const connecting = Bun.connect<End>({
      hostname: address,
      port,
      data: greeting,
      tls: { serverName: server_name, rejectUnauthorized: true },
      socket: {
        ...HANDLERS,
        connectError: () => {},
        handshake: (socket, ok, err) => {
          if (ok && !abandoned) {
            socket.data = new Waiting();
            return resolve(socket);
          }
          const code = (err as { code?: string } | null)?.code ?? "";
          reject(
            new EgressError("proxy_certificate_invalid", `${code} ${err?.message ?? ""}`.trim()),
          );
          socket.terminate();
        },
      },
    });
    connecting.catch(reject);
    promise.catch(() => {});
    return {
      opened: promise,
      abandon: () => {
        abandoned = true;
        connecting.then(
          (socket) => socket.terminate(),
          () => {},
        );
      },
    };
  };

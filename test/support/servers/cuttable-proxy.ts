import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy on loopback whose network can go away. */
export interface CuttableProxy {
  port: number;
  /** Resets every connection and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
  /** What is open now is heard and answered no more; new connections are. */
  silence(): void;
  close(): Promise<void>;
}

export async function startCuttableProxy(target_port: number): Promise<CuttableProxy> {
  const open = new Set<Socket>();
  let is_cut = false;
  const server = createServer((near) => {
    if (is_cut) return void near.resetAndDestroy();
    const far = connect(target_port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket
        .on("error", () => {})
        .on("close", () => {
          open.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const resetAll = () => {
    for (const socket of open) socket.resetAndDestroy();
    open.clear();
  };
  return {
    port: (server.address() as { port: number }).port,
    cut: () => {
      is_cut = true;
      resetAll();
    },
    mend: () => {
      is_cut = false;
    },
    silence: () => {
      for (const socket of open) socket.unpipe().pause();
    },
    close: async () => {
      resetAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

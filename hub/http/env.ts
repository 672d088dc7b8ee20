import type { Server } from "bun";
import type { SocketHandlers } from "./sockets.ts";

/** What every handler finds in its Hono context. `server` is absent when a test calls the app directly. */
export interface HttpEnv {
  Bindings: { server?: Server<SocketHandlers> };
}

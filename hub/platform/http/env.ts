import type { Server } from "bun";
import type { LinkGrant } from "../access/links/seal.ts";
import type { Caller } from "./caller.ts";
import type { SocketHandlers } from "./socket-handlers.ts";

/** What every handler has in its Hono context. `server` is absent when a test calls the app directly. */
export interface HttpEnv {
  Bindings: { server?: Server<SocketHandlers> };
  Variables: {
    /** Set by the gate before anything else of the route, even for a call that it refuses. */
    caller: Caller;
    /** Whether the token or session that let the caller in is still valid; absent where nothing ends. */
    still?: () => Promise<boolean>;
    /** Its status is that of a protocol in which 500 is the caller's matter, too. */
    told_in_protocol?: true;
    /** Set by the gate: what the signed link of this call opens. */
    link?: LinkGrant;
  };
}

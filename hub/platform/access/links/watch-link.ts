import type { Clock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import { closeReason } from "../../http/close-reason.ts";
import type { Socket, SocketHandlers } from "../../http/socket-handlers.ts";
import type { LinkGrant } from "./seal.ts";
import type { SignedLinks } from "./signed-links.ts";

/** Close codes of sockets that were opened by a link: 4000 and the status with which the link is refused from now on. */
const CLOSE_BASE = 4_000;
/** How soon a socket ends after its token was revoked, or the administrator ended all links. */
const LOOK_MS = 1_000;

/** The same socket, but it ends with the link that opened it: when the link or its token expires or is ended. */
export function endingWithLink(
  ctx: { readonly clock: Clock; readonly signed_links: SignedLinks },
  { text, grant }: { text: string; grant: LinkGrant },
  handlers: SocketHandlers,
): SocketHandlers {
  const over = new AbortController();
  const watch = async (socket: Socket) => {
    for (;;) {
      const left = grant.expires_at - ctx.clock.now();
      await ctx.clock.sleep(Math.min(LOOK_MS, Math.max(0, left)), over.signal);
      if (over.signal.aborted) return;
      const err = await ctx.signed_links.read(text).then(
        () => null,
        (refused: unknown) => refused,
      );
      // While the database does not answer, no one is cut off.
      if (err instanceof AppError && err.status < 500)
        return socket.close(CLOSE_BASE + err.status, closeReason(err.message));
    }
  };
  return {
    ...handlers,
    open: (socket) => {
      handlers.open?.(socket);
      void watch(socket);
    },
    close: (socket, code, reason) => {
      over.abort();
      handlers.close?.(socket, code, reason);
    },
  };
}

import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import { addressOf } from "#hub/platform/http/require-admin.ts";
import { requireUpgrade, upgrade } from "#hub/platform/http/sockets.ts";
import { notFound } from "#shared/kit/errors.ts";
import { WORKER_ID } from "#shared/protocol/ids.ts";
import type { FleetContext } from "../context.ts";
import { type LinkSession, openLinkSession } from "../links/link-session.ts";
import { linkFarewell } from "../links/take-up.ts";
import { LinkParams } from "./params.ts";

const link = createRoute({
  method: "get",
  path: "/workers/{worker_id}/link",
  access: "worker",
  proof: "registration",
  owner: "kept link",
  tags: ["workers"],
  operationId: "connectWorker",
  summary: "WebSocket: the worker's link",
  description:
    "The first frame is the registration. Close reasons: `bad worker secret`, `duplicate worker_id`.",
  request: { params: LinkParams },
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(403, 404, 426) },
});

/** WS /workers/{worker_id}/link (rules/worker-link#link). */
export function workerLinkRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, link);
  app.get("/workers/:worker_id/link", access(link.rules), (c) => {
    requireUpgrade(c);
    const worker_id = c.req.param("worker_id");
    if (!WORKER_ID.test(worker_id)) throw notFound("worker");
    // Bun no longer gives the address of a socket once it is open.
    const address = addressOf(c);
    let session: LinkSession | null = null;
    return upgrade(c, {
      open: (socket) => {
        const { code, reason } = linkFarewell(ctx);
        if (ctx.stopping.aborted) return socket.close(code, reason);
        session = openLinkSession(
          ctx,
          worker_id,
          {
            send: (text) => socket.send(text),
            close: (code, reason) => socket.close(code, reason),
          },
          address,
        );
      },
      message: (_socket, frame) => session?.receive(frame),
      close: (_socket, code, reason) => session?.closed(code, reason),
    });
  });
  return app;
}

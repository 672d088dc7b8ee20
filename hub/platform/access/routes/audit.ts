import { AuditPage, AuditQuery } from "#shared/protocol/schema/audit.ts";
import { createRoute } from "../../http/create-route.ts";
import { newApp } from "../../http/new-app.ts";
import { fails, ok } from "../../http/openapi-parts.ts";
import { type AuditContext, listAudit } from "../audit/list-audit.ts";

const list = createRoute({
  method: "get",
  path: "/audit",
  access: "admin",
  until_password: "operate",
  tags: ["admin"],
  operationId: "listAuditEntries",
  summary: "List who changed what, newest first (administrator)",
  description:
    "Every call other than GET, GETs that create a job, sockets that take over a browser, and whatever was refused with 401, " +
    "403 or 429: who, from where, what, and how it ended; never a body, a query or a secret. Stored about a second after " +
    "the call, and kept for SVC_AUDIT_DAYS. Calls of workers are not here: their attempts and logs are recorded elsewhere. " +
    "Filters combine; `next_cursor` is the `cursor` of the next page. `dropped` counts calls that this hub could " +
    "not store since its start.",
  request: { query: AuditQuery },
  responses: { ...ok(AuditPage), ...fails(401, 403, 422, 429, 503) },
});

/** The audit log, of hubs and control planes alike. */
export const auditRoutes = (ctx: AuditContext) =>
  newApp().openapi(list, async (c) => c.json(await listAudit(ctx, c.req.valid("query")), 200));

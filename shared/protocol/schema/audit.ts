import { z } from "@hono/zod-openapi";

/** Who called: `open` is anybody on a server that asks for no token, `nobody` a caller without valid credentials. */
const AUDIT_CALLERS = [
  "nobody",
  "open",
  "api token",
  "token",
  "session",
  "administrator",
  "worker",
  "link",
] as const;

/** One call that changed something, steered a browser or was refused. */
export const AuditEntry = z
  .object({
    id: z.int(),
    at: z.string(),
    /** `HOST/ID` of the hub or control plane that was called. */
    hub: z.string(),
    caller: z.object({
      kind: z.enum(AUDIT_CALLERS),
      name: z.string().nullable(),
      role: z.string().nullable(),
      token_id: z.string().nullable(),
    }),
    /** Address of the other end of its connection: behind a router, the router's. */
    address: z.string(),
    method: z.string(),
    /** The pattern of the route, `/jobs/:id`; null for a path that no route answers. */
    route: z.string().nullable(),
    /** The path as it was called, without query and credentials; ids that are keys are shortened. */
    path: z.string(),
    /** 101 for a WebSocket that was opened. */
    status: z.int(),
    error: z.string().nullable(),
    /** How often: calls that are refused again within a minute share one entry. */
    times: z.int(),
  })
  .openapi("AuditEntry");
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Query of GET /audit; every parameter narrows the list. */
export const AuditQuery = z.object({
  who: z
    .string()
    .max(200)
    .optional()
    .openapi({ description: "Kind, name or token id of the caller, or its address." }),
  method: z
    .string()
    .regex(/^[A-Za-z]{1,10}$/, "must be a method, such as POST")
    .transform((method) => method.toUpperCase())
    .optional(),
  route: z
    .string()
    .max(300)
    .optional()
    .openapi({ description: "The pattern of the route, such as `/jobs/:id`." }),
  status: z
    .string()
    .regex(/^[1-5](\d\d|[xX]{2})$/, "must be a status such as 403, or a class such as 4xx")
    .optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  until: z.iso.datetime({ offset: true }).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
  cursor: z.string().max(200).optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

/** Newest first. */
export const AuditPage = z
  .object({
    entries: z.array(AuditEntry),
    next_cursor: z.string().nullable(),
    /** Entries of this hub that could not be stored since it was started. */
    dropped: z.int(),
  })
  .openapi("AuditPage");
export type AuditPage = z.infer<typeof AuditPage>;

import type { Role } from "#shared/protocol/schema/token.ts";

/** How a caller showed who it is. */
type CallerKind =
  /** Nobody that the server knows: what it gave is wrong or missing, or the route asks for nothing. */
  | "nobody"
  /** Anybody on a server that asks for no token (rules/access#open-lan). */
  | "open"
  /** SVC_API_TOKEN. */
  | "api token"
  /** A token with a role. */
  | "token"
  /** A browser that was let in. */
  | "session"
  /** The administrator's password. */
  | "administrator"
  /** A worker or an agent, by its secret. */
  | "worker"
  /** A signed link. */
  | "link";

/** Who makes a call, as the gate found; handlers and later middleware read it as `c.var.caller`. */
export interface Caller {
  readonly kind: CallerKind;
  /** Of a token, a session or a link: what people call it. */
  readonly name: string | null;
  /** Null: of `open` and `api token`, and of sessions of the latter, what SVC_API_TOKEN may; of the others nothing. */
  readonly role: Role | null;
  /** Of the token itself, or of the one that a session or a link comes from. */
  readonly token_id: string | null;
}

const unnamed = (kind: CallerKind): Caller => ({ kind, name: null, role: null, token_id: null });

export const NOBODY = unnamed("nobody");
export const OPEN = unnamed("open");
export const API_TOKEN = unnamed("api token");
export const WORKER = unnamed("worker");
export const ADMINISTRATOR: Caller = {
  ...unnamed("administrator"),
  ...{ name: "admin", role: "admin" },
};

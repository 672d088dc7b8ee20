import type { Role } from "#shared/protocol/schema/token.ts";

/** How a caller showed who it is. */
type CallerKind =
  /** A caller that the server does not know: its proof is wrong or missing, or the route requires none. */
  | "nobody"
  /** Any caller of a server that requires no token (rules/access#open-lan). */
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

/** Who makes a call, as the gate found out; handlers and later middleware read it as `c.var.caller`. */
export interface Caller {
  readonly kind: CallerKind;
  /** Name of a token, a session or a link for people. */
  readonly name: string | null;
  /** Null: `open`, `api token` and the latter's sessions may do what SVC_API_TOKEN may; the others nothing. */
  readonly role: Role | null;
  /** Id of the token itself, or of the token that a session or a link comes from. */
  readonly token_id: string | null;
}

/** What people call who makes a call. */
export const nameOf = ({ name, kind }: Caller): string => name ?? kind;

const unnamed = (kind: CallerKind): Caller => ({ kind, name: null, role: null, token_id: null });

export const NOBODY = unnamed("nobody");
export const OPEN = unnamed("open");
export const API_TOKEN = unnamed("api token");
export const WORKER = unnamed("worker");
export const ADMINISTRATOR: Caller = {
  ...unnamed("administrator"),
  name: "admin",
  role: "admin",
};

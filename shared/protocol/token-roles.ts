/** Roles of tokens: each may do everything that those before it may. */
export const ROLES = ["viewer", "submitter", "operator", "admin"] as const;
type Role = (typeof ROLES)[number];

/** Whether a role may do what needs at least `least`. */
export const isAtLeast = (role: Role, least: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(least);

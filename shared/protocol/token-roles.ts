/** Roles of tokens: each may do everything that those before it may. */
export const ROLES = ["viewer", "submitter", "operator", "admin"] as const;

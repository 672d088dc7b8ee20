/** Of tokens: each may do what those before it may. */
export const ROLES = ["viewer", "submitter", "operator", "admin"] as const;

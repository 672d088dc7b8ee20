/**
 * How streams, viewers and CDP clients learn that the hub stops: 1012 of the IANA registry, "Service Restart". What
 * they watch goes on at its worker, and the next hub, or another one, serves it at the same address.
 */
export const GOING_AWAY = { code: 1012, reason: "hub is restarting; connect again" } as const;

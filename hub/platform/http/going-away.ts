/**
 * How streams, viewers and CDP clients are told that the hub stops: 1012 of the IANA registry, "Service Restart". What they
 * look at goes on at its worker, and the next hub, or another one, has it under the same address.
 */
export const GOING_AWAY = { code: 1012, reason: "hub is restarting; connect again" } as const;

interface SharedDriver {
  title: string;
  /** The variable that holds its URL. */
  variable: string;
  /** What the variable's documentation says. */
  about: string;
}

/**
 * The stores that several hubs may share (rules/storage#which-state-lives-where). `stores/open-shared.ts` opens them,
 * `flotilla doctor` checks them; the compiler refuses one that lacks either.
 */
export const SHARED_DRIVERS = {
  redis: {
    title: "Redis",
    variable: "SVC_REDIS_URL",
    about:
      "Shared key-value store of several hubs, redis://…; needs Postgres. Unset: one hub, in memory",
  },
} as const satisfies Record<string, SharedDriver>;

export type SharedDriverName = keyof typeof SHARED_DRIVERS;
export type SharedVariable = (typeof SHARED_DRIVERS)[SharedDriverName]["variable"];
export const SHARED_DRIVER_NAMES = Object.keys(SHARED_DRIVERS) as SharedDriverName[];

/** A store that the hubs of a fleet share. */
export interface SharedStore {
  driver: SharedDriverName;
  url: string;
  /** Begins every key, so several fleets can share one store. */
  prefix: string;
}

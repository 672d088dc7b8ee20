import type { AttackList } from "#test/support/rigs/attempts.ts";

/** An entry of a profile's preferences that says what is installed. */
export interface Installed {
  /** Where Chromium has it from (`mojom::ManifestLocation`). */
  location: number;
  /** A packaged app in place of an extension. */
  app?: boolean;
}

/** All of them set a proxy of their own, by a program and by what the entry says that it has set before. */
export const INSTALLED: Record<string, Installed> = {
  "from a store": { location: 1 },
  "from a program of the machine": { location: 2 },
  "unpacked, anywhere on the disk": { location: 4 },
  "as a component of Chromium": { location: 5 },
  "by a policy": { location: 7 },
  "by a switch": { location: 8 },
  "as an external component": { location: 10 },
  "as an app": { location: 1, app: true },
};

export const EXTENSIONS: AttackList = {
  what: "An extension of a profile that sets a proxy of its own, by where it is installed from",
  file: "extensions.test.ts",
  attempts: Object.keys(INSTALLED),
};

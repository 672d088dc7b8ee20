import type { LinkSession } from "#worker/link/link-session.ts";

/** The secret of the standing link; without one the bridges answer nobody. */
export interface StandingSecret {
  /** Null while no link stands. */
  current(): string | null;
  /** A session of the link begins: its secret counts until it ends. */
  takeFrom(session: LinkSession): void;
}

export function createStandingSecret(): StandingSecret {
  let secret: string | null = null;
  return {
    current: () => secret,
    takeFrom: ({ hub, signal }) => {
      secret = hub.upload_token;
      signal.addEventListener("abort", () => {
        if (secret === hub.upload_token) secret = null;
      });
    },
  };
}

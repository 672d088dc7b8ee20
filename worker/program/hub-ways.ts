import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { HubFiles } from "#worker/hub-files.ts";
import type { HubAddress } from "#worker/link/hub-url.ts";
import type { LinkSession } from "#worker/link/link-session.ts";
import { settleUploadBase } from "#worker/upload/base-url.ts";
import { createDirectWay, type DirectWay } from "#worker/upload/direct.ts";

/** A session of the link, as far as HTTP calls beside it need it. */
type Session = Pick<LinkSession, "hub">;

/** Where the hub of a session of the link takes and gives files. */
export interface HubWays {
  /** A session begins: finds out which address its hub is best reached at. */
  settle(session: Session): void;
  /** Base of the hub's URLs. */
  baseUrl(session: Session): Promise<string>;
  filesOf(session: Session): HubFiles;
  /** The way to the object store; what it learns holds for the whole session. */
  directWayOf(session: LinkSession): DirectWay;
}

export function createHubWays(deps: {
  hub: HubAddress;
  worker_id: string;
  clock: Clock;
  log: Log;
}): HubWays {
  const { hub, worker_id, clock, log } = deps;
  const bases = new WeakMap<Session, Promise<string>>();
  const direct = new WeakMap<LinkSession, DirectWay>();
  const baseUrl = (session: Session) => bases.get(session) ?? Promise.resolve(hub.http);
  return {
    baseUrl,
    settle: (session) => {
      const { public_base_url, expected_worker_version: expected_version } = session.hub;
      const dialled = hub.http;
      bases.set(session, settleUploadBase({ public_base_url, dialled, expected_version, log }));
    },
    filesOf: (session) => ({
      base_url: baseUrl(session),
      worker_id,
      upload_token: session.hub.upload_token,
    }),
    directWayOf: (session) => {
      const known = direct.get(session);
      if (known) return known;
      const way = createDirectWay(session.hub.direct_uploads_from ?? null, clock);
      direct.set(session, way);
      return way;
    },
  };
}

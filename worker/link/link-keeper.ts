import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { isCut, LINK_CLOSE } from "#shared/protocol/link/close.ts";
import type { HubRegistered, LaneHeld, Registration } from "#shared/protocol/link/messages.ts";
import type { LinkEnd } from "./connection.ts";
import type { LinkSession, Transmit } from "./link-session.ts";
import { StandingLink } from "./standing-link.ts";

/** How long work continues here while the hub is down: an upgrade that migrates a large database is over by then. */
const HUB_AWAY_MS = 600_000;

export interface LinkKeeperDeps {
  clock: Clock;
  log: Log;
  /** What runs on the standing link, for a hub that was restarted. */
  holds(): LaneHeld[];
  /** The handshake of a new link is done. */
  onRegistered(session: LinkSession): void;
  /** The link continues over another socket; the hub may be another process, with another version. */
  onResumed(session: LinkSession, hub: HubRegistered): void;
}

/** The link that stands, over one socket after the other, until it comes back too late. */
export interface LinkKeeper {
  /** It may be between sockets; null while there is none. */
  standing(): StandingLink | null;
  /** What a registration says to continue it. */
  resume(): Registration["resume"];
  /** The hub continues it, or has created a new one; null when it cannot go on. */
  take(hub: HubRegistered, transmit: Transmit): StandingLink | null;
  /** Decides what happens to it when its socket, or a dial to restore it, has ended. */
  afterEnd(end: LinkEnd): void;
  giveUp(why: string): void;
}

export function createLinkKeeper(deps: LinkKeeperDeps): LinkKeeper {
  const { clock } = deps;
  let standing: StandingLink | null = null;
  /** Time of the current cut, by the monotonic clock. */
  let cut_at = 0;
  let give_up_at = 0;

  const giveUp = (why: string) => {
    if (!standing) return;
    deps.log.warn({ reason: why }, "gave up the link");
    standing.end();
    standing = null;
  };
  const waitOut = async (link: StandingLink, back: AbortSignal) => {
    while (!back.aborted) {
      const left_ms = give_up_at - clock.monotonic();
      if (left_ms > 0) await clock.sleep(left_ms, back);
      else if (standing === link)
        return giveUp(`the hub was not reached for ${Math.round((give_up_at - cut_at) / 1_000)} s`);
      else return;
    }
  };
  return {
    giveUp,
    standing: () => standing,
    resume: () =>
      standing && {
        upload_token: standing.hub.upload_token,
        received: standing.received,
        acknowledged: standing.acknowledged,
        holds: deps.holds(),
      },
    take: (hub, transmit) => {
      if (hub.resumed) {
        if (standing?.resume(transmit, hub.resumed.received)) {
          deps.onResumed(standing, hub);
          return standing;
        }
        giveUp("the hub lacks messages that are no longer kept");
        return null;
      }
      giveUp("the hub has not kept it");
      standing = new StandingLink(hub, transmit);
      deps.onRegistered(standing);
      return standing;
    },
    afterEnd: (end) => {
      if (!standing) return;
      if (standing.grace_ms === 0 || !isCut(end.code, end.reason))
        return giveUp(end.reason || `closed with ${end.code}`);
      const now = clock.monotonic();
      const first = !standing.is_cut;
      if (first) cut_at = now;
      // While nobody listens, no hub counts the grace period either: the next hub counts it from its start.
      if (first || isHubDown(end))
        give_up_at = Math.min(now + standing.grace_ms, cut_at + HUB_AWAY_MS);
      if (first) void waitOut(standing, standing.cut());
    },
  };
}

/** Whether the hub's process is gone: it said so, or its address refuses the dial instead of leaving it unanswered. */
const isHubDown = ({ code, up_ms }: LinkEnd): boolean =>
  code === LINK_CLOSE.restarting || (up_ms === null && code !== LINK_CLOSE.liveness);

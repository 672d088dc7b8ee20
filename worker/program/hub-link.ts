import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import type { HubRegistered } from "#shared/protocol/link/messages.ts";
import { RunStopped } from "#worker/browser/jobs/assignments.ts";
import type { LanePool } from "#worker/browser/lanes/pool.ts";
import type { Sessions } from "#worker/browser/session/live-session.ts";
import type { Egress } from "#worker/egress/egress.ts";
import { startLink, type WorkerLink } from "#worker/link/client.ts";
import type { LinkSession } from "#worker/link/link-session.ts";
import { dispatch } from "./dispatch.ts";
import { heldLanes } from "./held-lanes.ts";
import type { HubWays } from "./hub-ways.ts";
import type { LaneWork } from "./lane-work.ts";
import type { SelfReport } from "./self-report.ts";
import type { StandingSecret } from "./standing-secret.ts";
import type { UpdateOrders } from "./update-orders.ts";

export interface HubLinkDeps {
  /** Address of this worker's link. */
  url: string;
  work: LaneWork;
  sessions: Sessions;
  report: SelfReport;
  orders: UpdateOrders;
  ways: HubWays;
  secret: StandingSecret;
  egress: Pick<Egress, "tell">;
  /** Called for every handshake of a new link. */
  onRegistered(): void;
  clock: Clock;
  log: Log;
  random: () => number;
}

/** Links the worker to its hub: what it reports, and what it does about the hub's messages. */
export function startHubLink(deps: HubLinkDeps): WorkerLink {
  const { url, work, report, orders, egress, clock, log, random } = deps;
  const wall_jumps = createWallJumps(clock, log);
  const onHello = (session: LinkSession, said: HubRegistered) => {
    if (said.fleet_places) egress.tell(said.fleet_places);
    orders.greeted(session, said);
  };
  return startLink({
    url,
    clock,
    log,
    random,
    registration: report.registration,
    heartbeat: () => {
      wall_jumps.look();
      return report.heartbeat();
    },
    holds: () => heldLanes(work.assignments, deps.sessions),
    onRegistered: (session) => {
      deps.ways.settle(session);
      deps.secret.takeFrom(session);
      session.signal.addEventListener("abort", () =>
        work.stopAll(new RunStopped("link_lost", "the link to the hub was lost")),
      );
      deps.onRegistered();
      onHello(session, session.hub);
      for (const lane of report.changedLanes()) session.send({ type: "LaneChanged", lane });
    },
    onResumed: onHello,
    onMessage: (session, message) => {
      // Every acknowledgement repeats it: one that was on its way when the link was cut is not lost.
      if (message.type === "HubHeartbeatAck") {
        if (message.fleet_places) egress.tell(message.fleet_places);
        if (message.update) orders.repeated(session, message.update);
      }
      dispatch({ assignments: work.assignments, desk: work.desk, log }, session, message);
    },
  });
}

/** Tells the hub of each change of a lane; returns the function that stops that. */
export const tellLaneChanges = (
  pool: Pick<LanePool, "onChange">,
  report: Pick<SelfReport, "laneAsTold">,
  link: Pick<WorkerLink, "session">,
): (() => void) =>
  pool.onChange((lane) => {
    link.session()?.send({ type: "LaneChanged", lane: report.laneAsTold(lane) });
  });

import type { HubRegistered } from "#shared/protocol/link/messages.ts";
import type { UpdateOrder } from "#shared/protocol/schema/updates.ts";
import type { LinkSession } from "#worker/link/link-session.ts";
import type { HubWays } from "./hub-ways.ts";
import type { Updater } from "./update/updater.ts";

/** What the hub says about the version that this worker should run (rules/updates#orders). */
export interface UpdateOrders {
  /** The order in a handshake, or the version that an earlier hub expects. */
  greeted(session: LinkSession, said: HubRegistered): void;
  /** The order that an acknowledgement repeats; the same order again changes nothing. */
  repeated(session: LinkSession, order: UpdateOrder): void;
}

export function createUpdateOrders(
  updater: Pick<Updater, "held" | "offered">,
  ways: Pick<HubWays, "baseUrl">,
): UpdateOrders {
  let obeyed: UpdateOrder | null = null;
  const obey = (session: LinkSession, order: UpdateOrder) => {
    const { target, go } = order;
    obeyed = order;
    if (!go) return updater.held(target);
    updater.offered(target, async () => `${await ways.baseUrl(session)}/worker-source.tar.gz`);
  };
  return {
    // A hub of an earlier version gives no orders: its own version must be taken at once.
    greeted: (session, said) =>
      obey(session, said.update ?? { target: said.expected_worker_version, go: true }),
    repeated: (session, order) => {
      if (obeyed?.target !== order.target || obeyed.go !== order.go) obey(session, order);
    },
  };
}

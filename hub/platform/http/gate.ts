import type { Context, MiddlewareHandler } from "hono";
import type { Changes } from "../changes.ts";
import type { DiskRoom } from "../stores/disk-room.ts";
import { matchOf, type Owner, type RouteRules } from "./access.ts";
import { type AdmitDeps, admit } from "./admit.ts";
import { NOBODY } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { type OriginRule, refuseForeignOrigin } from "./origins.ts";

type C = Context<HttpEnv>;

export interface GateDeps extends AdmitDeps {
  readonly origins: OriginRule;
  readonly changes: Pick<Changes, "touch">;
  readonly disk_room: Pick<DiskRoom, "requireRoom">;
  /** The answer of another hub, if only that one can answer; absent where there are no others. */
  readonly passOn?: ((c: C, owner: Owner) => Promise<Response | null>) | undefined;
}

/** Without the token, no caller learns which paths do not exist. */
const UNKNOWN: RouteRules = { access: "view" };

/** A path of a visit that names nothing to make is not found, as ever. */
const makesWork = (c: C, { new_work, by_visit }: RouteRules): boolean =>
  new_work === true && (by_visit === undefined || by_visit.test(c.req.path));

/**
 * The one place that applies the rules of routes (`access.ts`), before anything else of a route: who calls
 * (`c.var.caller`) and whether it may, then which hub answers, whether
 * it has room for new work, and afterwards which topics have changed.
 */
export const gate = (deps: GateDeps): MiddlewareHandler<HttpEnv> =>
  async function routeGate(c, next) {
    const rules = matchOf(c)?.rules ?? UNKNOWN;
    c.set("caller", NOBODY);
    await refuseForeignOrigin(c, rules, deps.origins);
    await admit(c, rules, deps);
    const passed = rules.owner && (await deps.passOn?.(c, rules.owner));
    if (passed) c.res = passed;
    else {
      if (makesWork(c, rules)) deps.disk_room.requireRoom();
      await next();
    }
    if (rules.changes && c.res.status < 400)
      for (const topic of rules.changes) deps.changes.touch(topic);
  };

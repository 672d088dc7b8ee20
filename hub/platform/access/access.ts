import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { addLoop } from "#shared/kit/loop.ts";
import type { Scope } from "#shared/kit/scope.ts";
import type { HubConfig } from "../config.ts";
import type { Db } from "../db/storage.ts";
import type { Kv } from "../stores/kv.ts";
import { type AdminGate, createAdminGate } from "./admin.ts";
import { createLogins, type Logins } from "./logins.ts";
import { createThrottle, type Throttle } from "./throttle.ts";
import { createTokens, type Tokens } from "./tokens.ts";

/** Decides who is let in: the administrator, holders of tokens with roles, and browsers that showed one of them. */
export interface AccessParts {
  readonly admin: AdminGate;
  readonly tokens: Tokens;
  readonly logins: Logins;
  readonly throttle: Throttle;
}

export interface AccessDeps {
  readonly db: Pick<Db, "access" | "settings">;
  readonly config: HubConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly kv: Kv;
}

/** Another hub may have made the first token, or revoked the last. */
const LOOK_EVERY_MS = 1_000;
const PRUNE_EVERY_MS = 3_600_000;

/** Opens them over the database; the loops that look after them end with `scope`. */
export async function openAccess(deps: AccessDeps, scope: Scope): Promise<AccessParts> {
  const { db, config, clock, log, kv } = deps;
  const throttle = createThrottle(kv, clock);
  const admin = createAdminGate({
    settings: db.settings,
    password: () => config.admin_password,
    throttle,
  });
  const logins = createLogins({ db, clock, kv, config, adminCredential: admin.credential });
  const tokens = createTokens({ db, clock, log, config, admin, onRevoked: logins.forget });
  await tokens.look();
  const loop = (name: string, everyMs: number, pass: () => Promise<unknown>) =>
    addLoop(scope, { name, everyMs, clock, log, pass: async () => void (await pass()) });
  // While the database does not answer, what was known stays valid; another loop reports the outage.
  loop("look for tokens", LOOK_EVERY_MS, () => tokens.look().catch(() => {}));
  loop("prune logins", PRUNE_EVERY_MS, logins.prune);
  if (config.api_token === null && !tokens.exist) tellOpen(deps);
  return { admin, tokens, logins, throttle };
}

/** Whether only programs of this machine reach a server that listens there. */
export const isForThisMachine = (host: string): boolean =>
  /^(127\.|localhost$|\[?::1\]?$)/.test(host);

/** Warn where others reach the server; on loopback, open access is what it is for. */
function tellOpen({ config, log }: AccessDeps): void {
  log[isForThisMachine(config.host) ? "info" : "warn"](
    { host: config.host },
    "no token is required: anybody who reaches this server can steer its browsers and run commands on its workers; create a token with flotilla tokens create, or set SVC_API_TOKEN",
  );
}

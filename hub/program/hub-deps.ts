import type { X509Certificate } from "node:crypto";
import type { ScriptTools } from "#hub/fleet/codegen/tools.ts";
import type { Signal } from "#hub/fleet/context.ts";
import type { OwnLogs } from "#hub/pipeline/operations/ship-own-logs.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import type { LoadedTls } from "#hub/platform/http/tls-files.ts";
import type { SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { ProgramContext } from "./context.ts";

export interface HubDeps {
  config: HubConfig;
  log: Log;
  clock: Clock;
  version: string;
  /** How this program is started; absent: no scheduled backups are made. */
  self?: readonly string[];
  /** Breaks ties between workers; Math.random by default. */
  random?: () => number;
  /** For tests: called at moments that cannot be observed otherwise. */
  signal?: (name: Signal, data: Record<string, unknown>) => void;
  /** For tests: stores that several hubs of one process share; their creator closes them. */
  shared?: SharedStores;
  /** For tests: runs and plans scripts instead of the real ones. */
  script_tools?: Partial<ScriptTools>;
  /** For tests: receives the context, to run single passes on it. */
  onContext?: (ctx: ProgramContext) => void;
}

/** What a start receives, and the log that it makes. */
export type ServeDeps = HubDeps & OwnLogs & { tls: LoadedTls | null };

export interface RunningHub {
  url: string;
  port: number;
  /** Its own certificate, as it was at the start; null for plain HTTP. */
  certificate: X509Certificate | null;
  /** The administrator's password if this start created it; shown once. */
  new_password: string | null;
  /** Whether people need a token. */
  asksForToken(): boolean;
  /** Logs one browser in as the administrator, once and within minutes. */
  newLoginCode(): Promise<string>;
  /** For calls of this program's own. */
  own_token: string;
  /** Takes a changed certificate. @throws ConfigError when its files cannot be used; the old one stays in use. */
  reload(): void;
  /** Drains, then stops in order; idempotent. */
  stop(): Promise<void>;
}

import type { ScriptTools } from "#hub/fleet/codegen/tools.ts";
import type { HubMode } from "#hub/platform/config.ts";
import type { SharedStores } from "#hub/platform/stores/open-shared.ts";
import type { ProgramContext } from "#hub/program/context.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";

export interface TestHubOptions {
  env?: EnvSource;
  mode?: HubMode;
  clock?: Clock;
  random?: () => number;
  version?: string;
  /** One hub also where others are three behind a router: the test is about what a hub keeps in its own process. */
  alone?: boolean;
  /** Of several hubs in this process; they need one Postgres database too. */
  shared?: SharedStores;
  /** What runs and plans scripts in the place of the real ones. */
  script_tools?: Partial<ScriptTools>;
  /** Given the context of each start, before the hub does anything with it. */
  onContext?: (ctx: ProgramContext) => void;
}

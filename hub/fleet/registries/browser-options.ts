import type { HostRow } from "#hub/platform/db/rows.ts";
import {
  BROWSER_OPTION_NAMES,
  type BrowserOptionName,
  type BrowserOptions,
  mergeBrowserOptions,
  type SomeBrowserOptions,
  unknownOptions,
} from "#shared/protocol/schema/browser-options.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { fleetSetting, type SettingsContext } from "./fleet-settings.ts";

/** What a run asks for, else what its host says, else the setting (rules/browser-options#who-decides). */
export const browserOptionsFor = async (
  ctx: SettingsContext,
  asked: SomeBrowserOptions,
  host: Pick<HostRow, "browser_options"> | null,
): Promise<BrowserOptions | null> =>
  mergeBrowserOptions([asked, host?.browser_options, await fleetSetting(ctx, "browser_options")]);

/**
 * What a worker can show of them. What a run asks for itself brings it only to workers that can; what a host or the
 * setting says does not keep it from the others.
 */
export function forWorker(
  options: BrowserOptions | null,
  { capabilities }: Pick<WorkerLink, "capabilities">,
): { shown: BrowserOptions | null; left_out: BrowserOptionName[] } {
  const left_out = options ? unknownOptions(options, capabilities.browser_options ?? []) : [];
  if (options === null || left_out.length === 0) return { shown: options, left_out };
  const kept: readonly string[] = BROWSER_OPTION_NAMES.filter((name) => !left_out.includes(name));
  const shown = Object.entries(options).filter(([name]) => kept.includes(name));
  return { shown: mergeBrowserOptions([Object.fromEntries(shown)]), left_out };
}

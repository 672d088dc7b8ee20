import type { HostRow } from "#hub/platform/db/rows.ts";
import type { SentBrowser } from "#shared/protocol/link/sent-browser-options.ts";
import {
  BROWSER_OPTION_NAMES,
  type BrowserOptionName,
  type BrowserOptions,
  lackOf,
  mergeBrowserOptions,
  type SomeBrowserOptions,
  unknownOptions,
} from "#shared/protocol/schema/browser-options.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { adHosts } from "./ad-hosts.ts";
import { fleetSetting, type SettingsContext } from "./fleet-settings.ts";
import { httpLoginOf } from "./http-login.ts";

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
function forWorker(
  options: BrowserOptions | null,
  { capabilities }: Pick<WorkerLink, "capabilities">,
): { shown: BrowserOptions | null; left_out: BrowserOptionName[] } {
  const left_out = options ? unknownOptions(options, capabilities.browser_options ?? []) : [];
  if (options === null || left_out.length === 0) return { shown: options, left_out };
  const kept: readonly string[] = BROWSER_OPTION_NAMES.filter((name) => !left_out.includes(name));
  const shown = Object.entries(options).filter(([name]) => kept.includes(name));
  return { shown: mergeBrowserOptions([Object.fromEntries(shown)]), left_out };
}

/** Who says what of the browser of a run. */
interface Said {
  /** The job or session itself. */
  asked: SomeBrowserOptions;
  host: Pick<HostRow, "host" | "browser_options"> | null;
  /** All of it together. */
  merged: BrowserOptions | null;
}

/** What a worker is told of the browser of a run, and sentences about what it is not told. */
export async function browserFor(
  ctx: SettingsContext,
  link: Pick<WorkerLink, "worker_id" | "capabilities">,
  { asked, host, merged }: Said,
): Promise<{ told: SentBrowser; troubles: string[] }> {
  const { shown, left_out } = forWorker(merged, link);
  const { http_login, lacks } = httpLoginOf(ctx, shown, asked, host);
  const ad_hosts = shown?.block?.ads ? await adHosts() : undefined;
  const troubles = lacks === null ? [] : [`the login for HTTP is left out: ${lacks}`];
  if (left_out.length > 0)
    troubles.unshift(
      `left out of the browser's options: ${left_out.join(", ")} (${lackOf(link.worker_id, left_out)})`,
    );
  return { told: { browser_options: shown, ad_hosts, http_login }, troubles };
}

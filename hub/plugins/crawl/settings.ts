/** Settings of a crawl (rules/pipeline-crawl#settings); `plugin.json` has their bounds. */
export interface Settings {
  scope: "page" | "prefix" | "host" | "domain" | "any";
  /** Regular expressions: addresses that are in scope too, and addresses that never are. */
  include: readonly string[];
  exclude: readonly string[];
  /** Links that may lead from a seed to a page; null: any number. */
  depth: number | null;
  limit: number;
  limit_per_host: number | null;
  /** Between the starts of two pages of a host, in seconds. */
  delay_s: number;
  /** Pages of a host that are open at a time. */
  per_host: number;
  robots: boolean;
  /** The name that robots.txt is read for. */
  agent: string;
  sitemaps: boolean;
  /** Options of every job. */
  options: Record<string, unknown>;
}

const DEFAULTS: Settings = {
  scope: "prefix",
  include: [],
  exclude: [],
  depth: null,
  limit: 1_000,
  limit_per_host: null,
  delay_s: 1,
  per_host: 2,
  robots: true,
  agent: "flotilla",
  sitemaps: true,
  options: {},
};

export const settingsOf = (given: Partial<Settings>): Settings => ({ ...DEFAULTS, ...given });

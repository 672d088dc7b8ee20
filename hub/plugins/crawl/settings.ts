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

export const settingsOf = (given: Partial<Settings>): Settings => ({
  scope: given.scope ?? "prefix",
  include: given.include ?? [],
  exclude: given.exclude ?? [],
  depth: given.depth ?? null,
  limit: given.limit ?? 1_000,
  limit_per_host: given.limit_per_host ?? null,
  delay_s: given.delay_s ?? 1,
  per_host: given.per_host ?? 2,
  robots: given.robots ?? true,
  agent: given.agent ?? "flotilla",
  sitemaps: given.sitemaps ?? true,
  options: given.options ?? {},
});

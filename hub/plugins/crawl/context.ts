import type { Client } from "#shared/client/index.ts";
import type { Settings } from "./settings.ts";

/** A task of a crawl: a page, a further part of its links, or a part of a sitemap. */
export interface Task {
  pk: string;
  extra: Extra | null;
}

export interface Extra {
  /** Links from the seed to here; a seed has none. */
  depth?: number;
  /** The seed that it was found on the way from. */
  seed?: string;
  sitemap?: SitemapPart;
  links?: LinksPart;
  /** The page that led here by a redirect: what is behind this address is captured with it. */
  same_as?: string;
}

/** The links of a page that earlier tasks have not told. */
export interface LinksPart {
  /** The page. */
  address: string;
  job_id: string;
  /** How many of all that the page names come before them. */
  from: number;
}

/** A sitemap, or the rest of one. */
export interface SitemapPart {
  address: string;
  /** Sitemaps that led to it. */
  level: number;
  /** Addresses that earlier tasks have told, and the job that has the sitemap. */
  from: number;
  job_id?: string;
}

/** What the runner gives a task. */
export interface TaskContext {
  task_id: number;
  /** Grows with each claim of the task, also after a reset, which begins the attempts anew. */
  epoch: number;
  attempt: number;
  max_attempts: number;
  signal: AbortSignal;
  state: {
    get(key: string, fallback?: unknown): Promise<unknown>;
    set(key: string, value: unknown): Promise<void>;
    update(key: string, change: (value: unknown) => unknown, fallback?: unknown): Promise<unknown>;
  };
}

/** What a site asks of crawlers (RFC 9309). */
export interface Robots {
  allows(address: string): boolean;
  /** `Crawl-delay`, in seconds; 0 without one. */
  delay_s: number;
  sitemaps: readonly string[];
}

/** One crawl, as long as its process lives. */
export interface Crawl {
  /** The slug of its workload. */
  name: string;
  settings: Settings;
  jobs: Client["jobs"];
  inScope(address: string, seed: string): boolean;
  /** The robots.txt of each origin that this process has met, and when it was read, in epoch ms. */
  robots: Map<string, { rules: Robots; read_at: number }>;
  /** Which task reported an address: what another task has reported is not reported again. */
  told: Map<string, number>;
}

/** Runs the task again later without using up an attempt. */
export function retryLater(seconds: number, why: string): Error {
  return Object.assign(new Error(why), { retry_after_ms: Math.round(seconds * 1_000) });
}

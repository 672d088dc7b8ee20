import type { HashedFile } from "#shared/archive/content-hash.ts";
import type { PluginManifest } from "#shared/protocol/schema/plugin.ts";

/** The plugins of this control plane, as last scanned. */
export interface Plugins {
  /** Absolute. */
  readonly dir: string;
  all(): readonly PluginFolder[];
  get(slug: string): PluginFolder | undefined;
  /** Scans again; afterwards everything that was there before the call is known. */
  refresh(): Promise<void>;
}

/** A plugin as its folder was scanned. One with errors is listed, but neither run nor served. */
export interface PluginFolder {
  slug: string;
  /** Absolute. */
  path: string;
  manifest: PluginManifest | null;
  errors: string[];
  /** Regular files by path, without hidden files, links and Python's caches. */
  files: ReadonlyMap<string, PluginFile>;
  /** Hash of what the folder holds (shared/archive/content-hash.ts); null when it has errors. */
  sha256: string | null;
}

export interface PluginFile extends HashedFile {
  /** Changes when the file does, so its hash is computed once. */
  seen: string;
}

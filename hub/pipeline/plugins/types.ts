import type { HashedFile } from "#shared/archive/content-hash.ts";
import type { PluginManifest } from "#shared/protocol/schema/plugin.ts";

/** The plugins of this control plane, as they were seen last. */
export interface Plugins {
  /** Absolute. */
  readonly dir: string;
  all(): readonly PluginFolder[];
  get(slug: string): PluginFolder | undefined;
  /** Looks again; what was there before the call is seen after it. */
  refresh(): Promise<void>;
}

/** A plugin as its folder was seen. One with errors is listed, and neither run nor served. */
export interface PluginFolder {
  slug: string;
  /** Absolute. */
  path: string;
  manifest: PluginManifest | null;
  errors: string[];
  /** Regular files by path; no hidden ones, no links, nothing that Python writes by itself. */
  files: ReadonlyMap<string, PluginFile>;
  /** Names what the folder holds (shared/archive/content-hash.ts); null when it has errors. */
  sha256: string | null;
}

export interface PluginFile extends HashedFile {
  /** Changes when the file does: its hash is reckoned once. */
  seen: string;
}

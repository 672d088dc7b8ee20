import { ArchiveError } from "./archive-error.ts";

/**
 * Cookies that Chromium's own database cannot carry (session cookies), stored next to it; written by `profile/save`.
 */
export const COOKIES_FILE = "flotilla-cookies.json";

/** Entries that only a profile directory has at its top. */
const MARKERS = new Set([
  "Bookmarks",
  "Cookies",
  "Extensions",
  "History",
  "IndexedDB",
  "Local Storage",
  "Login Data",
  "Network",
  "Preferences",
  "Secure Preferences",
  "Web Data",
  COOKIES_FILE,
]);

/**
 * Directories (and files) below a profile that Chromium creates again: caches, crash reports, the windows open last
 * time.
 */
const DROPPED = new Set([
  "Application Cache",
  "Cache",
  "Code Cache",
  "Crash Reports",
  "Crashpad",
  "Current Session",
  "Current Tabs",
  "DawnCache",
  "DawnGraphiteCache",
  "DawnWebGPUCache",
  "GPUCache",
  "GPUPersistentCache",
  "GrShaderCache",
  "GraphiteDawnCache",
  "Last Session",
  "Last Tabs",
  "Media Cache",
  "PersistentOriginTrials",
  // What an organisation demands of the profile's own machine: extensions, and a proxy that would outrank the lane's.
  "Policy",
  "Service Worker/CacheStorage",
  "Sessions",
  "ShaderCache",
]);
/** Extensions and apps, and what they stored: none runs in a lane (rules/profiles#extensions). */
const EXTENSIONS =
  /^((External )?Extensions|(DNR )?Extension (Cookies(-journal)?|Rules|Scripts|State)|(Local|Managed|Sync) (App|Extension) Settings)$/;
const DROPPED_NAME = /^(Singleton.*|RunningChromeVersion|BrowserMetrics.*|lockfile|.*\.tmp)$/;

/** The one file outside the profile's directory that belongs to it. */
export const LOCAL_STATE = "Local State";

/** Whether a file below a profile's directory is kept: no caches, crash reports, locks, open windows or extensions. */
export const keepsFile = (path: readonly string[]): boolean =>
  !DROPPED.has(path[0] ?? "") &&
  !EXTENSIONS.test(path[0] ?? "") &&
  !DROPPED.has(path.slice(0, 2).join("/")) &&
  !path.some((segment) => DROPPED_NAME.test(segment));

/** Where the profile lies in an archive: the name of its directory, or `""` when it is the archive's root. */
export type ProfileBase = string;

/** Finds the profile in an archive by the names of its files (rules/profiles#shapes-of-an-archive). */
export function createShapeFinder(): {
  see(path: readonly string[]): void;
  /** @throws ArchiveError when there is none, or when several qualify. */
  find(): ProfileBase;
} {
  const numbered = new Set<string>();
  let plain = false;
  let at_root = false;
  return {
    see: (path) => {
      const [top = ""] = path;
      if (path.length > 1 && top === "Default") plain = true;
      else if (path.length > 1 && /^Profile [1-9][0-9]{0,5}$/.test(top)) numbered.add(top);
      else if (MARKERS.has(top)) at_root = true;
    },
    find: () => {
      if (plain) return "Default";
      const [only] = numbered;
      if (only !== undefined && numbered.size === 1) return only;
      if (numbered.size > 1)
        throw new ArchiveError(
          `the archive holds several profiles (${[...numbered].slice(0, 5).join(", ")}) but no Default: pack one of them`,
        );
      if (at_root) return "";
      throw new ArchiveError(
        "no profile found in the archive: it must hold Default/, Profile <N>/, or a profile's files (such as Cookies) at its root",
      );
    },
  };
}

/** Where a file of the archive goes in a user-data directory, or null when it is not kept. */
export function normalPath(base: ProfileBase, path: readonly string[]): string[] | null {
  if (path.length === 1 && path[0] === LOCAL_STATE) return [LOCAL_STATE];
  if (base !== "" && path[0] !== base) return null;
  const rest = base === "" ? path : path.slice(1);
  return rest.length > 0 && keepsFile(rest) ? ["Default", ...rest] : null;
}

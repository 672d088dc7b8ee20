import { chmodSync, lstatSync, mkdirSync, realpathSync } from "node:fs";

/** Only for one user. */
export const OWN_DIR = 0o700;
/** Other users may pass through to what is below, without listing the directory. */
export const THROUGH_DIR = 0o711;
export const OWN_FILE = 0o600;

const RIGHTS = 0o777;

export interface ModeChange {
  path: string;
  /** Octal. */
  from: string;
  to: string;
}

const octal = (mode: number) => mode.toString(8).padStart(4, "0");

/** Removes permissions that are not in `most`. @returns null when there is nothing to remove; links are not followed. */
export function tightenMode(path: string, most: number): ModeChange | null {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return null;
  const mode = stat.mode & RIGHTS;
  const wanted = mode & most;
  if (mode === wanted) return null;
  chmodSync(path, wanted);
  return { path, from: octal(mode), to: octal(wanted) };
}

/** Creates a directory, or removes from an existing one the permissions that are not in `most`. */
export function makeOwnDir(path: string, most = OWN_DIR): ModeChange | null {
  mkdirSync(path, { recursive: true, mode: most });
  // If the directory itself is a link, its target is meant.
  return tightenMode(realpathSync(path), most);
}

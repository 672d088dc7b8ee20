import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The packages that an executable is made of, as the lock file has them. */

export interface LockedPackage {
  name: string;
  version: string;
  /** `sha512-…` of the archive that the registry serves. */
  integrity: string;
  /** Its entry in the lock file: names from the outermost package to this one. */
  key: string;
  /** Whether the program itself asks for it. */
  direct: boolean;
  /** Keys of what it needs. */
  needs: string[];
  /** As its own description says, an expression of SPDX as a rule; null: it says nothing. */
  license: string | null;
  /** Its texts of licences and notices. */
  notices: { file: string; text: string }[];
}

interface Needs {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalPeers?: string[];
}
type Entry = [identity: string, registry: string, needs: Needs, integrity: string];
interface LockFile {
  workspaces: Record<string, { dependencies?: Record<string, string> }>;
  packages: Record<string, Entry>;
}

const NOTICE = /^(licen[cs]e|copying|notice)/i;

/** The names in `a/@scope/b`. */
const namesOf = (key: string): string[] => key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? [];

/** Where the lock file has what `key` calls `name`: below itself, or below one of those that it is below. */
function resolve({ packages }: LockFile, key: string, name: string): string | null {
  const names = namesOf(key);
  for (let depth = names.length; depth >= 0; depth -= 1) {
    const candidate = [...names.slice(0, depth), name].join("/");
    if (candidate in packages) return candidate;
  }
  return null;
}

const namesNeeded = (needs: Needs): string[] => [
  ...Object.keys(needs.dependencies ?? {}),
  ...Object.keys(needs.optionalDependencies ?? {}),
  ...Object.keys(needs.peerDependencies ?? {}).filter(
    (name) => !(needs.optionalPeers ?? []).includes(name),
  ),
];

function readLicense(dir: string): string | null {
  const about = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as {
    license?: string | { type?: string };
  };
  const { license } = about;
  return (typeof license === "string" ? license : license?.type) ?? null;
}

function readNotices(dir: string): LockedPackage["notices"] {
  const files = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && NOTICE.test(entry.name))
    .map(({ name }) => name)
    .sort();
  return files.map((file) => ({ file, text: readFileSync(join(dir, file), "utf8") }));
}

/**
 * What the program's own dependencies come to in the lock file below `root`, with everything that they need in turn, by
 * name. What only another kind of machine installs is left out.
 */
export async function lockedPackages(root: string): Promise<LockedPackage[]> {
  const lock = Bun.JSONC.parse(await Bun.file(join(root, "bun.lock")).text()) as LockFile;
  const found = new Map<string, LockedPackage>();
  const own = Object.keys(lock.workspaces[""]?.dependencies ?? {});
  const waiting = [...own];
  for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
    const entry = lock.packages[key];
    const dir = join(root, "node_modules", namesOf(key).join("/node_modules/"));
    if (entry === undefined || found.has(key) || !existsSync(dir)) continue;
    const [identity, , needs, integrity] = entry;
    const at = identity.lastIndexOf("@");
    const keys = namesNeeded(needs).flatMap((name) => resolve(lock, key as string, name) ?? []);
    found.set(key, {
      name: identity.slice(0, at),
      version: identity.slice(at + 1),
      integrity,
      key,
      direct: own.includes(key),
      needs: keys,
      license: readLicense(dir),
      notices: readNotices(dir),
    });
    waiting.push(...keys);
  }
  return [...found.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

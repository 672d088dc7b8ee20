import { join } from "node:path";
import { type BuildTarget, ROOT } from "../build.ts";
import { runTool } from "../run-tool.ts";

/** Machines that a release is made for. */

export interface ReleaseTarget {
  /** In the names of files. */
  name: string;
  arch: BuildTarget["arch"];
  compile: Bun.Build.CompileTarget;
  /** Package of npm with Bun for it. */
  runtime: string;
  /** Debian's name of the architecture; null: no package is made of it. */
  deb: "amd64" | "arm64" | null;
}

export const TARGETS: readonly ReleaseTarget[] = [
  {
    name: "linux-x64",
    arch: "x64",
    compile: "bun-linux-x64",
    runtime: "@oven/bun-linux-x64",
    deb: null,
  },
  {
    // For processors before AVX2 (2013). Debian's amd64 begins with the first ones, so its package has this one.
    name: "linux-x64-baseline",
    arch: "x64",
    compile: "bun-linux-x64-baseline",
    runtime: "@oven/bun-linux-x64-baseline",
    deb: "amd64",
  },
  {
    name: "linux-arm64",
    arch: "arm64",
    compile: "bun-linux-arm64",
    runtime: "@oven/bun-linux-aarch64",
    deb: "arm64",
  },
];

/** A package of its own: its lock file says which bytes of Bun are taken. */
const RUNTIMES = join(ROOT, "scripts/packaging/runtimes");
const FETCH_MS = 600_000;

/** @throws Error for a name that no target has */
export function targetsOf(names: readonly string[]): readonly ReleaseTarget[] {
  const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name));
  if (unknown.length > 0)
    throw new Error(
      `no such target: ${unknown.join(", ")}; there are ${TARGETS.map(({ name }) => name).join(", ")}`,
    );
  return names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name));
}

/** Fetches Bun for every target, those that this machine cannot run too; the lock file's hashes are compared. */
export async function fetchRuntimes(): Promise<void> {
  const argv = [process.execPath, "install", "--frozen-lockfile", "--cpu=*", "--os=*"];
  const { ok, output } = await runTool("runtimes", argv, RUNTIMES, FETCH_MS);
  if (!ok) throw new Error(`Bun for the other machines could not be fetched: ${output}`);
}

export const buildTarget = ({ arch, compile, runtime }: ReleaseTarget): BuildTarget => ({
  platform: "linux",
  arch,
  compile,
  runtime: join(RUNTIMES, "node_modules", runtime, "bin/bun"),
});

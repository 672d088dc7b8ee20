import { existsSync } from "node:fs";
import { join } from "node:path";

/** Installs a package of its own, as its lock file has it, at the first use. @throws when the registry cannot be reached. */
export async function installPackage(dir: string): Promise<void> {
  if (existsSync(join(dir, "node_modules"))) return;
  const argv = [process.execPath, "install", "--frozen-lockfile"];
  const child = Bun.spawn(argv, { cwd: dir, stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`${argv.join(" ")} failed in ${dir}`);
}

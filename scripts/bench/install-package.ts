import { existsSync } from "node:fs";
import { join } from "node:path";
import { runTool } from "../run-tool.ts";

/** The largest package, 760 MB on disk, takes half a minute over a fast line. */
const INSTALL_MS = 600_000;

/** Installs a package of its own, as its lock file has it, at the first use. @throws Error with what the installer said. */
export async function installPackage(dir: string): Promise<void> {
  if (existsSync(join(dir, "node_modules"))) return;
  const argv = [process.execPath, "install", "--frozen-lockfile"];
  const { ok, output } = await runTool("install", argv, dir, INSTALL_MS);
  if (!ok) throw new Error(`${argv.join(" ")} failed in ${dir}: ${output}`);
}

import { accessSync, constants } from "node:fs";

/** A program the lanes need is not installed; `packages` are Debian's and Ubuntu's names. The worker exits 3. */
export class MissingProgramError extends Error {
  readonly packages: string[];
  constructor(message: string, packages: string[]) {
    super(message);
    this.name = "MissingProgramError";
    this.packages = packages;
  }
}

const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];

/** Absolute path of the browser. @throws MissingProgramError */
export function findChromium(configured: string | null, path: string): string {
  if (configured !== null) {
    if (isExecutable(configured)) return configured;
    throw new MissingProgramError(`SVC_CHROMIUM: ${configured} is not an executable file`, [
      "chromium",
    ]);
  }
  for (const name of BROWSERS) {
    const found = Bun.which(name, { PATH: path });
    if (found) return found;
  }
  throw missing(`no browser (${BROWSERS.join(", ")}) in PATH`, "chromium");
}

/** Absolute path of TigerVNC's X server. @throws MissingProgramError */
export function findXvnc(path: string): string {
  const found = Bun.which("Xvnc", { PATH: path });
  if (found) return found;
  throw missing(
    "no Xvnc in PATH; without a display use --headless-lanes (SVC_HEADLESS_LANES=1)",
    "tigervnc-standalone-server",
  );
}

const missing = (what: string, debianPackage: string) =>
  new MissingProgramError(`${what}: install the package ${debianPackage}`, [debianPackage]);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

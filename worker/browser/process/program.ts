import { accessSync, constants } from "node:fs";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";

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
      ...LANE_PACKAGES.browser,
    ]);
  }
  for (const name of BROWSERS) {
    const found = Bun.which(name, { PATH: path });
    if (found) return found;
  }
  throw missing(`no browser (${BROWSERS.join(", ")}) in PATH`, LANE_PACKAGES.browser);
}

/** Absolute path of TigerVNC's X server. @throws MissingProgramError */
export function findXvnc(path: string): string {
  const found = Bun.which("Xvnc", { PATH: path });
  if (found) return found;
  throw missing(
    "no Xvnc in PATH; without a display use --headless-lanes (SVC_HEADLESS_LANES=1)",
    LANE_PACKAGES.display,
  );
}

/**
 * Both programs; `xvnc` is null for lanes without a display.
 * @throws MissingProgramError naming everything that is missing, including the fonts that a browser needs, so that
 * one command is enough.
 */
export function findPrograms(
  configured: string | null,
  headless: boolean,
  path: string,
): { chromium: string; xvnc: string | null } {
  const lacking: MissingProgramError[] = [];
  const look = <T>(find: () => T): T | null => {
    try {
      return find();
    } catch (err) {
      if (!(err instanceof MissingProgramError)) throw err;
      lacking.push(err);
      return null;
    }
  };
  const chromium = look(() => findChromium(configured, path));
  const xvnc = headless ? null : look(() => findXvnc(path));
  if (chromium !== null && lacking.length === 0) return { chromium, xvnc };
  const packages = lacking.flatMap((each) => each.packages);
  throw new MissingProgramError(lacking.map(({ message }) => message).join("; "), [
    ...packages,
    ...(Bun.which("fc-match", { PATH: path }) === null ? LANE_PACKAGES.fonts : []),
  ]);
}

const missing = (what: string, packages: readonly string[]) =>
  new MissingProgramError(`${what}: install ${packages.join(" ")}`, [...packages]);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

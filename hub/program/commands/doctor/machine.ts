import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { callWithin } from "#shared/kit/call-within.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";
import { humanSize } from "#shared/kit/words.ts";
import { CDP_PORT_BASE, MAX_DISK_PCT, VNC_PORT_BASE } from "#shared/protocol/limits.ts";
import {
  type Check,
  type CheckDeps,
  type CheckStatus,
  fail,
  firstLine,
  install,
  isOn,
  numberOf,
  ok,
  setting,
  warn,
} from "./check.ts";
import { isFree, ownerOf, type PortOwner } from "./sockets.ts";
import { adviceOnWrite, measureFsync } from "./write.ts";

const GB = 1024 ** 3;
const VIEWER_PORT_BASE = 6080;
/** A disk that takes longer to sync 4 KB makes every commit slow. */
const SLOW_FSYNC_MS = 100;

interface Program {
  name: string;
  /** The first one found is used. */
  commands: string[];
  version: string;
  missing: CheckStatus;
  advice: string;
}

async function checkProgram({ path }: CheckDeps, program: Program): Promise<Check> {
  const { name, commands, version, missing, advice } = program;
  const found = commands
    .map((command) => Bun.which(command, { PATH: path }))
    .find((at) => at !== null);
  if (!found) return { name, status: missing, found: "not installed", advice };
  const line = await firstLine([found, version]);
  if (line === null) return { name, status: missing, found: `${found} cannot be run`, advice };
  return ok(name, line === "" ? found : line);
}

/** The programs that run and show pages (rules/lanes#ports-of-a-lane). */
/** What a hub makes videos of recordings with. It does everything else without it. */
export function checkVideos({ path }: CheckDeps, named: string | null): Check {
  const name = "videos";
  const program = Bun.which(named ?? "ffmpeg", { PATH: path });
  if (program !== null) return ok(name, `recordings can be exported with ${program}`);
  const lacking =
    named === null
      ? `ffmpeg is not installed: ${install("ffmpeg")} makes it possible`
      : `SVC_FFMPEG names ${named}, which is no program`;
  return ok(name, `recordings cannot be exported as videos: ${lacking}`);
}

export function checkPrograms(deps: CheckDeps): Promise<Check[]> {
  const configured = setting(deps.env, "SVC_CHROMIUM");
  const headless = isOn(deps.env, "SVC_HEADLESS_LANES");
  const programs: Program[] = [
    {
      name: "chromium",
      commands: configured ? [configured] : ["chromium", "chromium-browser", "google-chrome"],
      version: "--version",
      missing: "fail",
      advice: configured
        ? "SVC_CHROMIUM must name the browser's executable"
        : install(LANE_PACKAGES.browser),
    },
    {
      name: "Xvnc",
      commands: ["Xvnc"],
      version: "-version",
      missing: headless ? "warn" : "fail",
      advice: `${install(LANE_PACKAGES.display)}, or SVC_HEADLESS_LANES=1`,
    },
    ...["ffmpeg", "ffprobe"].map((name) => ({
      name,
      commands: [name],
      version: "-version",
      missing: "warn" as const,
      advice: `${install("ffmpeg")} (download_video)`,
    })),
    {
      name: "yt-dlp",
      commands: ["yt-dlp"],
      version: "--version",
      missing: "warn",
      advice: `${install("yt-dlp")} (needed by download_video; ffmpeg works without it)`,
    },
    {
      name: "chromedriver",
      commands: ["chromedriver"],
      version: "--version",
      missing: "warn",
      advice: `${install(LANE_PACKAGES.webdriver)} (Selenium's clients; the worker looks for it when it connects)`,
    },
  ];
  return Promise.all(programs.map((program) => checkProgram(deps, program)));
}

/** Pages without a font show boxes. */
export async function checkFonts({ path }: CheckDeps): Promise<Check> {
  const name = "fonts";
  const advice = install(LANE_PACKAGES.fonts);
  const program = Bun.which("fc-match", { PATH: path });
  if (!program) return { name, status: "warn", found: "fontconfig is not installed", advice };
  const line = await firstLine([program, "sans-serif"]);
  return line ? ok(name, line) : { name, status: "warn", found: "no font", advice };
}

export async function checkSharedMemory(dir = "/dev/shm"): Promise<Check> {
  const name = "/dev/shm";
  const advice = "give the container --shm-size=1g: below that Chromium keeps pages in files";
  const stat = await statfs(dir).catch(() => null);
  if (!stat) return { name, status: "warn", found: "absent", advice };
  const free = stat.bavail * stat.bsize;
  if (free < GB) return { name, status: "warn", found: `${humanSize(free)} free`, advice };
  return ok(name, `${humanSize(free)} free`);
}

/**
 * Checks free space (a worker with 90 % of its disk used takes no job: rules/scheduling#candidates), and whether and
 * how fast written data are kept.
 */
export async function checkDisk({ env }: CheckDeps): Promise<Check> {
  const name = "disk";
  let dir = resolve(setting(env, "SVC_DATA_DIR") ?? "./data");
  while (!existsSync(dir)) dir = dirname(dir);
  const { blocks, bavail, bfree, bsize } = await statfs(dir);
  const free = bavail * bsize;
  const used = blocks === 0 ? 0 : (100 * (blocks - bfree)) / (blocks - bfree + bavail);
  const space = `${humanSize(free)} free, ${used.toFixed(0)} % used at ${dir}`;
  let sync_ms: number;
  try {
    sync_ms = await measureFsync(dir);
  } catch (err) {
    return fail(name, `${space}; ${errorMessage(err)}`, adviceOnWrite(err, dir, "SVC_DATA_DIR"));
  }
  const found = `${space}, fsync ${sync_ms.toFixed(1)} ms`;
  if (used >= MAX_DISK_PCT)
    return fail(name, found, "free up space: above 90 % a worker takes no jobs");
  if (free < 5 * GB) return warn(name, found, "free up space for captures");
  if (sync_ms > SLOW_FSYNC_MS)
    return warn(name, found, "use a faster disk: every commit waits for it");
  return ok(name, found);
}

/**
 * Checks the ports of this machine's lanes (rules/lanes#ports-of-a-lane). Those held by processes of `unit` are that
 * service's own lanes.
 */
export async function checkPorts({ env }: CheckDeps, unit?: string): Promise<Check> {
  const name = "lane ports";
  const lanes = Math.min(100, Math.max(1, numberOf(env.LANE_POOL, 2)));
  const bases = [
    numberOf(env.SVC_CDP_PORT_BASE, CDP_PORT_BASE),
    numberOf(env.SVC_VNC_PORT_BASE, VNC_PORT_BASE),
    numberOf(env.NOVNC_BASE_PORT, VIEWER_PORT_BASE),
  ];
  const ports = bases.flatMap((base) => Array.from({ length: lanes }, (_, i) => base + i));
  const impossible = ports.filter((port) => port < 1 || port > 65_535);
  if (impossible.length > 0)
    return fail(
      name,
      `${impossible.join(", ")} are not ports`,
      "lower SVC_CDP_PORT_BASE, SVC_VNC_PORT_BASE and NOVNC_BASE_PORT, so that all lanes stay below 65536",
    );
  const free = await Promise.all(ports.map((port) => isFree(port)));
  const taken = ports.filter((_, i) => !free[i]);
  const owners = await Promise.all(taken.map(ownerOf));
  const isOwn = (i: number) => unit !== undefined && owners[i]?.unit === unit;
  const strange = taken.filter((_, i) => !isOwn(i));
  if (strange.length === 0) {
    const own = taken.length > 0 ? `; ${taken.length} are used by the service's own lanes` : "";
    return ok(name, `${ports.length - taken.length} free for ${lanes} lanes${own}`);
  }
  const list = taken.flatMap((port, i) =>
    isOwn(i) ? [] : [`${port}${owners[i] ? ` by ${owners[i]?.text}` : ""}`],
  );
  return warn(
    name,
    `in use: ${list.join(", ")}`,
    adviceOnPorts(owners.filter((_, i) => !isOwn(i))),
  );
}

function adviceOnPorts(owners: (PortOwner | null)[]): string {
  const unit = owners.find((owner) => owner?.unit?.startsWith("flotilla-"))?.unit;
  return unit
    ? `${unit} uses them: a second worker on this machine needs its own SVC_CDP_PORT_BASE, SVC_VNC_PORT_BASE and NOVNC_BASE_PORT`
    : "stop the program that uses them, or choose others with SVC_CDP_PORT_BASE, SVC_VNC_PORT_BASE and NOVNC_BASE_PORT";
}

/** What answers at which path. */
const SERVERS = [
  ["/health", "a hub"],
  ["/api/v1/health", "a control plane"],
] as const;
const ASK_MS = 3_000;

async function versionAt(url: string): Promise<string | null> {
  const ask = async (signal: AbortSignal) => {
    // On loopback, and only to learn a version: the certificate has other names.
    const answer = await fetch(url, { signal, tls: { rejectUnauthorized: false } });
    return ((await answer.json()) as { version?: string } | null)?.version ?? null;
  };
  try {
    return await callWithin(systemClock, { what: url, ms: ASK_MS }, ask);
  } catch {
    return null; // not one of ours
  }
}

/** Checks that the port of a hub or control plane is free, or held by one that answers. */
export async function checkServerPort(port: number, host: string): Promise<Check> {
  const name = "port";
  if (await isFree(port, host)) return ok(name, `${port} is free`);
  for (const [path, who] of SERVERS) {
    const at = `127.0.0.1:${port}${path}`;
    const version =
      port === 0 ? null : ((await versionAt(`http://${at}`)) ?? (await versionAt(`https://${at}`)));
    if (version) return ok(name, `${port} is used by ${who} that answers, version ${version}`);
  }
  const owner = await ownerOf(port);
  if (owner)
    return fail(
      name,
      `${port} is taken: ${owner.text} listens there`,
      `stop it, or set SVC_PORT to another`,
    );
  if (port > 0 && port < 1_024)
    return fail(
      name,
      `${port} cannot be used on ${host}`,
      "ports below 1024 need root: set SVC_PORT to a higher one, with a router in front",
    );
  return fail(
    name,
    `${port} cannot be used on ${host}`,
    `set SVC_HOST to an address of this machine (0.0.0.0 for all); if it is one, another user's process has the port: run ss -ltnp as root`,
  );
}

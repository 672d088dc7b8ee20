import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";
import { CDP_PORT_BASE, MAX_DISK_PCT, VNC_PORT_BASE } from "#shared/protocol/limits.ts";
import { humanSize } from "#shared/protocol/names.ts";
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
/** A disk that takes longer to keep 4 KB makes every commit slow. */
const SLOW_FSYNC_MS = 100;

interface Program {
  name: string;
  /** The first one found counts. */
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

/** What runs pages and what shows them (rules/lanes#ports-of-a-lane). */
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
      advice: `${install("yt-dlp")} (download_video; ffmpeg alone does without)`,
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
 * Space (a worker with 90 % of its disk used takes no job: rules/scheduling#candidates), and whether what is written there
 * is kept, and how fast.
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
    return fail(name, found, "a worker takes no job above 90 %: free space");
  if (free < 5 * GB) return warn(name, found, "captures need room");
  if (sync_ms > SLOW_FSYNC_MS) return warn(name, found, "a faster disk: every commit waits for it");
  return ok(name, found);
}

/**
 * Ports of this machine's lanes (rules/lanes#ports-of-a-lane). Those that processes of `unit` hold are that service's own
 * lanes.
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
      `${impossible.join(", ")} are no ports`,
      "SVC_CDP_PORT_BASE, SVC_VNC_PORT_BASE and NOVNC_BASE_PORT, with the lanes counted from there, must stay below 65536",
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
    ? `${unit} has them: a second worker of this machine needs SVC_CDP_PORT_BASE, SVC_VNC_PORT_BASE and NOVNC_BASE_PORT of its own`
    : "stop what has them, or set SVC_CDP_PORT_BASE, SVC_VNC_PORT_BASE, NOVNC_BASE_PORT to others";
}

/** Who answers where. */
const SERVERS = [
  ["/health", "a hub"],
  ["/api/v1/health", "a control plane"],
] as const;
const ASK_MS = 3_000;

async function versionAt(url: string): Promise<string | null> {
  try {
    const signal = AbortSignal.timeout(ASK_MS);
    // On loopback, and nothing but a version is asked for: its certificate has other names.
    const answer = await fetch(url, { signal, tls: { rejectUnauthorized: false } });
    return ((await answer.json()) as { version?: string } | null)?.version ?? null;
  } catch {
    return null; // not one of ours
  }
}

/** The port of a hub or control plane: free, or held by one that answers. */
export async function checkServerPort(port: number, host: string): Promise<Check> {
  const name = "port";
  if (await isFree(port, host)) return ok(name, `${port} is free`);
  for (const [path, who] of SERVERS) {
    const at = `127.0.0.1:${port}${path}`;
    const version =
      port === 0 ? null : ((await versionAt(`http://${at}`)) ?? (await versionAt(`https://${at}`)));
    if (version) return ok(name, `${port} is held by ${who} that answers, version ${version}`);
  }
  const owner = await ownerOf(port);
  if (owner)
    return fail(
      name,
      `${port} is held: ${owner.text} listens there`,
      `stop it, or set SVC_PORT to another`,
    );
  if (port > 0 && port < 1_024)
    return fail(
      name,
      `${port} cannot be used on ${host}`,
      "ports below 1024 are root's: set SVC_PORT to a higher one, with a router before it",
    );
  return fail(
    name,
    `${port} cannot be used on ${host}`,
    `SVC_HOST must be an address of this machine (0.0.0.0 for all), or somebody else's process has the port: ss -ltnp as root`,
  );
}

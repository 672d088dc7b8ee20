import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import type { EnvSource } from "#shared/env.ts";
import { CDP_PORT_BASE, MAX_DISK_PCT, VNC_PORT_BASE } from "#shared/limits.ts";
import { humanSize } from "#shared/names.ts";

/** `fail`: something cannot work. `warn`: something is slower, or one feature is missing. */
export type CheckStatus = "ok" | "warn" | "fail";

export interface Check {
  name: string;
  status: CheckStatus;
  /** What was found. */
  found: string;
  /** What to do about it; empty when it is ok. */
  advice: string;
}

export interface CheckDeps {
  env: EnvSource;
  /** Directories to look programs up in. */
  path: string;
}

const GB = 1024 ** 3;
const PROGRAM_MS = 10_000;
const VIEWER_PORT_BASE = 6080;

const ok = (name: string, found: string): Check => ({ name, status: "ok", found, advice: "" });
const install = (packages: string) => `apt-get install ${packages}`;

/** First line of what a program prints, or null when it cannot be run. */
async function firstLine(argv: string[]): Promise<string | null> {
  try {
    const child = Bun.spawn(argv, {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: PROGRAM_MS,
    });
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    await child.exited;
    const line = `${out}\n${err}`.split("\n").find((l) => l.trim() !== "");
    return child.signalCode === null ? (line?.trim().slice(0, 80) ?? "") : null;
  } catch {
    return null;
  }
}

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

/** What runs pages and what shows them (fleet spec §2.5). */
export function checkPrograms(deps: CheckDeps): Promise<Check[]> {
  const configured = deps.env.SVC_CHROMIUM?.trim();
  const headless = /^(1|true|yes|on)$/i.test(deps.env.SVC_HEADLESS_LANES?.trim() ?? "");
  const programs: Program[] = [
    {
      name: "chromium",
      commands: configured ? [configured] : ["chromium", "chromium-browser", "google-chrome"],
      version: "--version",
      missing: "fail",
      advice: configured
        ? "SVC_CHROMIUM must name the browser's executable"
        : install("chromium chromium-sandbox"),
    },
    {
      name: "Xvnc",
      commands: ["Xvnc"],
      version: "-version",
      missing: headless ? "warn" : "fail",
      advice: `${install("tigervnc-standalone-server")}, or SVC_HEADLESS_LANES=1`,
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
  const advice = install("fontconfig fonts-liberation");
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

/** §8: a worker with 90 % of its disk used takes no job. */
export async function checkDisk({ env }: CheckDeps): Promise<Check> {
  const name = "disk";
  let dir = resolve(env.SVC_DATA_DIR?.trim() || "./data");
  while (!existsSync(dir)) dir = dirname(dir);
  const { blocks, bavail, bfree, bsize } = await statfs(dir);
  const free = bavail * bsize;
  const used = blocks === 0 ? 0 : (100 * (blocks - bfree)) / (blocks - bfree + bavail);
  const found = `${humanSize(free)} free, ${used.toFixed(0)} % used at ${dir}`;
  if (used >= MAX_DISK_PCT)
    return { name, status: "fail", found, advice: "a worker takes no job above 90 %: free space" };
  if (free < 5 * GB) return { name, status: "warn", found, advice: "captures need room" };
  return ok(name, found);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });
}

const numberOf = (value: string | undefined, fallback: number): number => {
  const number = Number(value?.trim() || fallback);
  return Number.isInteger(number) ? number : fallback;
};

/** Ports of this machine's lanes (fleet spec §2.5). */
export async function checkPorts({ env }: CheckDeps): Promise<Check> {
  const name = "lane ports";
  const lanes = Math.min(100, Math.max(1, numberOf(env.LANE_POOL, 2)));
  const bases = [
    numberOf(env.SVC_CDP_PORT_BASE, CDP_PORT_BASE),
    numberOf(env.SVC_VNC_PORT_BASE, VNC_PORT_BASE),
    numberOf(env.NOVNC_BASE_PORT, VIEWER_PORT_BASE),
  ];
  const ports = bases.flatMap((base) => Array.from({ length: lanes }, (_, i) => base + i));
  const free = await Promise.all(
    ports.map((port) => (port > 0 && port < 65_536 ? isFree(port) : Promise.resolve(false))),
  );
  const taken = ports.filter((_, i) => !free[i]);
  if (taken.length === 0) return ok(name, `${ports.length} free for ${lanes} lanes`);
  return {
    name,
    status: "warn",
    found: `in use: ${taken.join(", ")}`,
    advice:
      "a worker runs here already, or set SVC_CDP_PORT_BASE, SVC_VNC_PORT_BASE, NOVNC_BASE_PORT",
  };
}

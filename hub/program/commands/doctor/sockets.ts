import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";

/** Whether a program could listen on `port` of `host` now. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, host, () => server.close(() => done(true)));
  });
}

const LISTENING = "0A";

async function inodesOf(port: number): Promise<Set<string>> {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
  const texts = await Promise.all(tables.map((path) => readFile(path, "utf8").catch(() => "")));
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const rows = texts.flatMap((text) => text.split("\n").map((line) => line.trim().split(/\s+/)));
  return new Set(
    rows
      .filter(([, local = "", , state]) => state === LISTENING && local.endsWith(`:${hex}`))
      .map((row) => `socket:[${row[9]}]`),
  );
}

export interface PortOwner {
  /** `name (pid N)` */
  text: string;
  /** The systemd service that the process belongs to. */
  unit: string | null;
}

async function unitOf(pid: string): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => "");
  return /\/([^/\n]+\.service)(\/|$)/m.exec(text)?.[1] ?? null;
}

/** The process that listens on `port`; null when there is none or only root may see it. */
export async function ownerOf(port: number): Promise<PortOwner | null> {
  const inodes = await inodesOf(port);
  if (inodes.size === 0) return null;
  for (const pid of (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name))) {
    const fds = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const fd of fds) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      if (!inodes.has(target)) continue;
      const comm = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "?");
      return { text: `${comm.trim()} (pid ${pid})`, unit: await unitOf(pid) };
    }
  }
  return null;
}

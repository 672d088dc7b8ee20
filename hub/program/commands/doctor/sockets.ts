import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tcpRows } from "#shared/kit/tcp-table.ts";

/** Whether a program could listen on `port` of `host` now. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, host, () => server.close(() => done(true)));
  });
}

async function inodesOf(port: number): Promise<Set<string>> {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
  const texts = await Promise.all(tables.map((path) => readFile(path, "utf8").catch(() => "")));
  return new Set(
    texts
      .flatMap((text) => [...tcpRows(text)])
      .filter(({ listens, local_port }) => listens && local_port === port)
      .map(({ inode }) => `socket:[${inode}]`),
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

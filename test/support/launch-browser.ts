import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { withDeadline } from "#shared/clock.ts";
import { CdpConnection } from "#worker/cdp/connection.ts";
import { pipeTransport } from "#worker/cdp/transport.ts";
import type { BrowserExit, LaneBrowser } from "#worker/lanes/types.ts";

export interface LaunchOptions {
  headless: boolean;
  /** X display such as `:123`, for headful. */
  display?: string;
  args?: string[];
}

const BASE_ARGS = [
  "--remote-debugging-pipe",
  "--no-sandbox",
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
  "--disable-background-timer-throttling",
  "--disable-features=BackForwardCache,Translate",
  "--password-store=basic",
  "--autoplay-policy=no-user-gesture-required",
  "--mute-audio",
  "--site-per-process",
  "--disable-popup-blocking",
];

/** A bare Chromium that satisfies `LaneBrowser`: what capture tests need and no more. */
export async function launchBrowser(options: LaunchOptions): Promise<LaneBrowser> {
  const root = await mkdtemp(join(tmpdir(), "flotilla-browser-"));
  const dirs = {
    root,
    user_data: join(root, "user-data"),
    tmp: join(root, "tmp"),
    downloads: join(root, "downloads"),
    spool: join(root, "spool"),
  };
  for (const dir of Object.values(dirs)) await mkdir(dir, { recursive: true });
  const child = spawn(
    "/usr/bin/chromium",
    [
      ...BASE_ARGS,
      ...(options.headless ? ["--headless=new"] : []),
      ...(options.args ?? []),
      `--user-data-dir=${dirs.user_data}`,
      "about:blank",
    ],
    {
      detached: true,
      env: { PATH: "/usr/bin:/bin", HOME: root, TMPDIR: dirs.tmp, DISPLAY: options.display ?? "" },
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    },
  );
  const exited = watchExit(child);
  const connection = new CdpConnection(
    pipeTransport(child.stdio[3] as Writable, child.stdio[4] as Readable),
  );
  const { product, userAgent } = await connection.root.send("Browser.getVersion");
  let killed: Promise<void> | undefined;
  const killOnce = async () => {
    killGroup(child);
    await withDeadline("browser exit", 5_000, exited);
    connection.close();
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  return {
    connection,
    pid: child.pid ?? 0,
    product,
    user_agent: userAgent,
    headless: options.headless,
    sandbox: "off",
    capture: "durable",
    dirs,
    exited,
    kill: () => (killed ??= killOnce()),
  };
}

function watchExit(child: ChildProcess): Promise<BrowserExit> {
  const lines: string[] = [];
  child.stderr?.on("data", (chunk: Buffer) => {
    lines.push(chunk.toString());
    if (lines.length > 20) lines.shift();
  });
  return new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve({ code, signal, log_tail: lines.join("") })),
  );
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}

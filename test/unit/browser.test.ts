import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkFonts, checkPrograms } from "#hub/program/commands/doctor/machine.ts";
import { findBrowserUser } from "#shared/kit/browser-user.ts";
import { environmentOf, isAlive, parseStat, readStat } from "#shared/kit/proc.ts";
import { fitsSocketPath } from "#worker/browser/process/dirs.ts";
import { browserFlags, type FlagOptions } from "#worker/browser/process/flags.ts";
import {
  findChromium,
  findPrograms,
  findXvnc,
  MissingProgramError,
} from "#worker/browser/process/program.ts";
import { findByTag, tagOf } from "#worker/browser/process/tagged.ts";

const flags = (change: Partial<FlagOptions> = {}) =>
  browserFlags({
    headless: false,
    cdp_port: 9223,
    user_data: "/run/0-1/user-data",
    tag: "abc:0-1",
    sandbox: "on",
    small_shm: false,
    ignore_https_errors: false,
    shows_automation: false,
    trusted_key: null,
    gate_port: 4321,
    ...change,
  });

describe("command line of Chromium", () => {
  test("everything leaves through the gate, loopback and WebRTC too, and no name is resolved", () => {
    expect(flags()).toEqual(
      expect.arrayContaining([
        "--proxy-server=socks5://127.0.0.1:4321",
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
      ]),
    );
  });

  test("the pipe and the port are both open, and no web origin may use the port", () => {
    expect(flags()).toContain("--remote-debugging-pipe");
    expect(flags()).toContain("--remote-debugging-port=9223");
    expect(flags().filter((f) => f.startsWith("--remote-allow-origins"))).toEqual([]);
  });

  test("no extension is loaded (rules/profiles#extensions)", () => {
    expect(flags()).toContain("--disable-extensions");
  });

  test("every switch is given once, so that none overwrites another", () => {
    const names = flags({ sandbox: "off", small_shm: true, headless: true }).map(
      (f) => f.split("=")[0],
    );
    expect(new Set(names).size).toBe(names.length);
  });

  test("disabled features are one merged list", () => {
    expect(flags().find((f) => f.startsWith("--disable-features="))).toMatch(
      /BackForwardCache,.*Translate/,
    );
  });

  test("the sandbox is given up only when told so", () => {
    expect(flags()).not.toContain("--no-sandbox");
    expect(flags({ sandbox: "off" })).toContain("--no-sandbox");
  });

  test("/dev/shm is avoided only when it is small", () => {
    expect(flags()).not.toContain("--disable-dev-shm-usage");
    expect(flags({ small_shm: true })).toContain("--disable-dev-shm-usage");
  });

  test("the run is named on the command line", () => {
    expect(flags()).toContain("--flotilla-lane=abc:0-1");
  });
});

describe("/proc", () => {
  test("a command with spaces and parentheses does not shift the fields of stat", () => {
    const stat =
      "42 (a) (b c) S 1 42 7 0 -1 4194560 10 0 0 0 1 2 0 0 20 0 1 0 100 2000 300 18446744073709551615";
    expect(parseStat(stat)).toEqual({
      pid: 42,
      comm: "a) (b c",
      state: "S",
      ppid: 1,
      pgrp: 42,
      session: 7,
      ticks: 3,
      rss_pages: 300,
    });
  });

  test("text that is no stat gives null", () => {
    expect(parseStat("")).toBeNull();
    expect(parseStat(") 1 (")).toBeNull();
    expect(parseStat("42 (cut) S 1 42")).toBeNull();
  });

  test("a process that does not exist is not alive and has no tag", () => {
    const pid = 2 ** 22 + 1;
    expect(isAlive(readStat(pid))).toBe(false);
    expect(tagOf(pid)).toBeNull();
    expect(environmentOf(pid, "PATH")).toBeNull();
  });

  test("a tagged process is found with what it started in a session of its own", async () => {
    const tag = `test${process.pid}:find`;
    // The inner sleep leaves the session, takes the variable along and outlives nobody.
    const child = Bun.spawn(["sh", "-c", "setsid sleep 60 & echo ready; wait"], {
      env: { PATH: process.env.PATH ?? "", FLOTILLA_LANE: tag },
      stdout: "pipe",
    });
    const reader = child.stdout.getReader();
    await reader.read();
    const match = (found: string) => found === tag;
    let found = findByTag(match);
    while (!found.some((p) => p.comm === "sleep" && p.session === p.pid)) {
      await Bun.sleep(1); // setsid forks and execs after the line was written
      found = findByTag(match);
    }
    expect(found.map((p) => p.pid)).toContain(child.pid);
    expect(findByTag((other) => other === `${tag}x`)).toEqual([]);
    for (const p of found) process.kill(p.pid, "SIGKILL");
    await child.exited;
    while (findByTag(match).some(isAlive)) await Bun.sleep(1);
    await reader.cancel();
  });
});

describe("programs and users", () => {
  test("a missing program is named with its package", () => {
    const err = catchError(() => findXvnc("/nowhere"));
    expect(err).toBeInstanceOf(MissingProgramError);
    expect(err).toMatchObject({ packages: ["tigervnc-standalone-server"] });
    expect(catchError(() => findChromium(null, "/nowhere"))).toMatchObject({
      packages: ["chromium", "chromium-sandbox"],
    });
  });

  test("what is missing is named at once, and as the doctor names it", async () => {
    const err = catchError(() => findPrograms(null, false, "/nowhere")) as MissingProgramError;
    const checks = await checkPrograms({ env: {}, path: "/nowhere" });
    const advised = [...checks, await checkFonts({ env: {}, path: "/nowhere" })]
      .filter(({ name }) => ["chromium", "Xvnc", "fonts"].includes(name))
      .map(({ advice }) => /apt-get install ([a-z -]+[a-z])/.exec(advice ?? "")?.[1] ?? "");
    expect(err.packages).toEqual(advised.join(" ").split(" "));
    expect(catchError(() => findPrograms(null, true, "/nowhere"))).toMatchObject({
      packages: ["chromium", "chromium-sandbox", "fontconfig", "fonts-liberation"],
    });
  });

  test("a configured browser that is no program is refused naming SVC_CHROMIUM", () => {
    expect(() => findChromium("/etc/passwd", "/bin")).toThrow(/^SVC_CHROMIUM: \/etc\/passwd/);
  });

  test("an unknown user is refused naming SVC_BROWSER_USER", () => {
    expect(() => findBrowserUser("no-such-user-here", "on")).toThrow(/^SVC_BROWSER_USER: no user/);
    expect(() => findBrowserUser("--help", "on")).toThrow(/^SVC_BROWSER_USER/);
    expect(() => findBrowserUser("root", "on")).toThrow(
      /is root, for which Chromium has no sandbox/,
    );
    expect(findBrowserUser(null, "off")).toBeNull();
  });

  test.skipIf(process.getuid?.() !== 0)(
    "root without the account is refused, and told how to make it",
    async () => {
      const dir = mkdtempSync(join(tmpdir(), "flotilla-no-account-"));
      try {
        // It knows nobody, as `id` of a machine without the account.
        writeFileSync(join(dir, "id"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
        const module = join(import.meta.dir, "../../shared/kit/browser-user.ts");
        const code = `const { findBrowserUser } = await import(${JSON.stringify(module)});
          try { console.log("runs as", findBrowserUser(null, "on")); }
          catch (err) { console.log(err.name, err.message); }`;
        const { stdout } = Bun.spawnSync([process.execPath, "-e", code], { env: { PATH: dir } });
        expect(stdout.toString()).toMatch(
          /^ConfigError Chromium does not run as root in its sandbox.*flotilla-browser.*useradd --system.*SVC_BROWSER_SANDBOX=off/,
        );
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  );
});

test("a run directory is deep when Chromium's singleton socket would not fit below it", () => {
  expect(fitsSocketPath("/var/lib/flotilla/worker/lanes/runs")).toBe(true);
  expect(fitsSocketPath(`/${"d".repeat(60)}`)).toBe(false);
});

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (err) {
    return err;
  }
  throw new Error("nothing was thrown");
}

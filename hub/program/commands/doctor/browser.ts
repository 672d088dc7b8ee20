import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type BrowserUser, findBrowserUser } from "#shared/kit/browser-user.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";
import {
  type Check,
  type CheckDeps,
  fail,
  install,
  isOn,
  ok,
  outputOf,
  setting,
  warn,
} from "./check.ts";
import { adviceOnNamespaces } from "./namespaces.ts";

const START_MS = 45_000;
const PROBE = "flotilla-doctor-41";

/** The account that a worker on this machine would run its browsers as. */
function accountOf(env: CheckDeps["env"], sandbox: "on" | "off"): BrowserUser | null | Error {
  try {
    return findBrowserUser(setting(env, "SVC_BROWSER_USER"), sandbox);
  } catch (err) {
    return new Error(errorMessage(err));
  }
}

const asAccount = ({ uid, gid }: BrowserUser): string[] => [
  "setpriv",
  `--reuid=${uid}`,
  `--regid=${gid}`,
  "--clear-groups",
  "--",
];

/**
 * Starts the browser without a display, as the account and in the sandbox that it has below a worker, lets it run a
 * script and waits for the page (45 s, because the machine may be busy).
 */
export async function checkBrowser({ env, path }: CheckDeps, namespaces: Check): Promise<Check> {
  const name = "browser start";
  const named = setting(env, "SVC_CHROMIUM");
  const program = (named ? [named] : ["chromium", "chromium-browser", "google-chrome"])
    .map((command) => Bun.which(command, { PATH: path }))
    .find((at) => at !== null);
  if (!program) return fail(name, "no browser is installed", install(LANE_PACKAGES.browser));
  const sandbox = setting(env, "SVC_BROWSER_SANDBOX") === "off" ? "off" : "on";
  const account = accountOf(env, sandbox);
  if (account instanceof Error)
    return fail(name, "there is no account to run it as", account.message);
  const dir = await mkdtemp(join(tmpdir(), "flotilla-doctor-"));
  try {
    if (account) await chown(dir, account.uid, account.gid);
    const began = performance.now();
    const page = `data:text/html,<script>document.title="${PROBE.slice(0, -2)}"+(40+1)</script>`;
    const text = await outputOf(
      [
        ...(account ? asAccount(account) : []),
        "env",
        `HOME=${dir}`,
        `TMPDIR=${dir}`,
        program,
        "--headless=new",
        "--disable-gpu",
        "--no-first-run",
        ...(sandbox === "off" ? ["--no-sandbox"] : []),
        `--user-data-dir=${dir}`,
        "--dump-dom",
        page,
      ],
      START_MS,
    );
    const took = `${Math.round(performance.now() - began)} ms`;
    if (text?.includes(PROBE))
      return ok(
        name,
        `answers after ${took}, ${account ? `as ${account.name}, ` : ""}${sandbox === "on" ? "in" : "without"} its sandbox`,
      );
    if (text === null)
      return fail(
        name,
        `no answer within ${START_MS / 1_000} s`,
        `the machine may be too busy or out of memory; run: time ${program} --headless=new --dump-dom about:blank`,
      );
    if (/No usable sandbox|Failed to move to new namespace/i.test(text))
      return fail(name, "Chromium finds no sandbox", adviceOnNamespaces(namespaces, program));
    const line =
      text.split("\n").find((l) => /error|fatal|cannot/i.test(l)) ?? text.trim().slice(-120);
    return fail(name, line.trim().slice(0, 160), adviceOnStart(text, program));
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Advice by what Chromium printed before it ended. */
function adviceOnStart(text: string, program: string): string {
  if (/error while loading shared libraries/i.test(text))
    return `a library is missing: apt-get install --reinstall ${basename(program)}`;
  if (/No space left|Failed to create.*shared memory|\/dev\/shm/i.test(text))
    return "free up space in /tmp and /dev/shm (in a container: --shm-size=1g)";
  if (/Permission denied|read-only file system/i.test(text))
    return "its user must be able to write its home and TMPDIR";
  return `for details run, as the service's user: ${program} --headless=new --dump-dom about:blank`;
}

/** Starts Xvnc on a free display, which it must report within 10 s. */
export async function checkDisplay({ env, path }: CheckDeps): Promise<Check> {
  const name = "display";
  const advice = `${install(LANE_PACKAGES.display)}, or SVC_HEADLESS_LANES=1`;
  const missing = isOn(env, "SVC_HEADLESS_LANES") ? warn : fail;
  const program = Bun.which("Xvnc", { PATH: path });
  if (!program) return missing(name, "Xvnc is not installed", advice);
  const child = Bun.spawn(
    [program, "-displayfd", "1", "-rfbport", "-1", "-SecurityTypes", "None", "-nolisten", "tcp"],
    { stdin: "ignore", stdout: "pipe", stderr: "pipe", timeout: 10_000, killSignal: "SIGKILL" },
  );
  try {
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    const number = value ? new TextDecoder().decode(value).trim() : "";
    if (/^[0-9]+$/.test(number)) return ok(name, `Xvnc starts (display :${number})`);
    const said = (await new Response(child.stderr).text()).trim().split("\n").at(-1) ?? "";
    return missing(name, `Xvnc does not start: ${said.slice(0, 120)}`, "start Xvnc :99 by hand");
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

interface Script {
  name: string;
  /** Patterns of fc-list; each must find a font. */
  patterns: string[];
  debian_package: string;
}

/** Scripts that a Latin font shows as boxes, with the smallest package that covers each. */
const SCRIPTS: Script[] = [
  {
    name: "Chinese, Japanese or Korean",
    patterns: [":lang=zh-cn", ":lang=ja", ":lang=ko"],
    debian_package: "fonts-wqy-microhei",
  },
  // A rocket: text fonts have some of the faces, in black and white.
  { name: "emoji", patterns: [":charset=1f680"], debian_package: "fonts-noto-color-emoji" },
  {
    name: "Arabic, Hebrew, Hindi or Thai",
    patterns: [":charset=633", ":charset=5d0", ":charset=915", ":charset=e01"],
    debian_package: "fonts-freefont-ttf",
  },
];

/** Pages look as on a desktop only if there is a font for every common script. */
export async function checkScripts({ path }: CheckDeps): Promise<Check> {
  const name = "fonts CJK, emoji";
  const program = Bun.which("fc-list", { PATH: path });
  if (!program) return warn(name, "fontconfig is not installed", install("fontconfig"));
  const found = async (pattern: string) =>
    /\S/.test((await outputOf([program, pattern, "family"])) ?? "");
  const lacking = await Promise.all(
    SCRIPTS.map(async (script) => {
      const there = await Promise.all(script.patterns.map(found));
      return there.includes(false) ? [script] : [];
    }),
  ).then((scripts) => scripts.flat());
  if (lacking.length === 0) return ok(name, "installed, also for other common scripts");
  return warn(
    name,
    `pages show boxes for ${lacking.map((script) => script.name).join(" and ")}`,
    install(lacking.map((script) => script.debian_package).join(" ")),
  );
}

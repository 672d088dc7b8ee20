import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readContents } from "#hub/guide/contents.ts";
import { readGuide } from "#hub/guide/guide-files.ts";
import { parsePage } from "#hub/guide/markdown.ts";
import { freePort, lanePorts } from "../servers/ports.ts";
import { processesOf, until } from "./fleet-process.ts";
import { startGuideModel } from "./guide-model.ts";
import { PROGRAM, type Program, startProgram } from "./program.ts";

/** A newcomer who pastes what a page of the guide shows, block by block, into one shell. */

const ROOT = join(import.meta.dir, "../../..");
/** What a login shell of Debian begins with, before `~/.local/bin` where that is there. */
const LOGIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** A page is dead when its shell has printed nothing for so long. */
const SILENT_MS = 120_000;

export interface Block {
  /** Commands to paste; what they print goes on the screen. */
  commands: string;
  /** What the page says will be seen, as a text after these commands. */
  seen: string[];
}

/**
 * The blocks of a page that are marked `sh`, with the `text` that stands after each. Those with a mark more are left out:
 * scripts/check-guide.ts says who runs them.
 */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let shown = false;
  for (const { type, info, content } of parsePage(text)) {
    // What stands below a heading of its own was not printed by the commands above it.
    if (type === "heading_open") shown = false;
    if (type !== "fence") continue;
    if (info === "sh") blocks.push({ commands: content, seen: [] });
    else if (info === "text" && shown) blocks.at(-1)?.seen.push(content);
    shown = info === "sh" || (info === "text" && shown);
  }
  return blocks;
}

interface PageToPaste {
  path: string;
  blocks: Block[];
}

/** What the README shows to somebody who has started development mode as it says. */
export const readmeToPaste = (): PageToPaste => ({
  path: "README.md",
  blocks: blocksOf(readFileSync(join(ROOT, "README.md"), "utf8")),
});

/** Pages of a chapter that have something to paste, in the order of the table of contents. */
export function pagesToPaste(chapter: string): PageToPaste[] {
  const files = readGuide();
  const { chapters } = readContents(files.get("index.md") ?? "");
  return chapters
    .filter(({ title }) => title === chapter)
    .flatMap(({ entries }) => entries)
    .map(({ path }) => ({ path, blocks: blocksOf(files.get(path) ?? "") }))
    .filter(({ blocks }) => blocks.length > 0);
}

/** A line as the page shows it, for any numbers and any spaces; `…` is anything. */
const lineAsSeen = (line: string): RegExp =>
  new RegExp(
    line
      .trim()
      .split("…")
      .map((part) =>
        part
          .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
          .replace(/\d+((\\\.|,)\d+)*/g, "\\d[\\d.,]*")
          .replace(/\s+/g, "\\s+"),
      )
      .join(".*"),
  );

/** Lines that the page shows and the screen does not, in their order. */
export function unseen(seen: string, screen: string): string[] {
  let rest = screen;
  return seen.split("\n").filter((line) => {
    if (/^[\s…]*$/.test(line)) return false;
    const found = lineAsSeen(line).exec(rest);
    if (found !== null) rest = rest.slice(found.index + found[0].length);
    return found === null;
  });
}

/** Statuses from 400 on that a block says its calls will have: `# 409 while it is connected`. */
const announced = (commands: string): number[] =>
  [...commands.matchAll(/\s# (\d{3})\b/g)].map(([, status]) => Number(status));

const BLOCK = "== block ";

/** Where pages let a reader start servers of his own; each gets a free port here. */
const OWN_PORTS = ["8010", "8443"];
/** What pages name where a reader would have a site of his own. */
const ANY_SITE = /https:\/\/example\.com\/(?![\w-])/g;
/** Where the page about scripts has its model. */
const MODEL_PORT = "8080";

/** Puts the ports that servers have here in place of those that pages name. */
function portsHere(hub: string, demo: string, model: string): (commands: string) => string {
  const own = OWN_PORTS.map((port) => [port, String(freePort())] as const);
  const ports = new Map([["8000", hub], ["8001", demo], [MODEL_PORT, model], ...own]);
  return (commands) =>
    commands
      .replaceAll(ANY_SITE, `http://localhost:${demo}/demo/`)
      .replaceAll(/(localhost|127\.0\.0\.1):(\d{4})\b/g, (address, host, port) =>
        ports.has(port) ? `${host}:${ports.get(port)}` : address,
      )
      .replaceAll(/(--port |SVC_PORT = )(\d{4})\b/g, (flag, name, port) =>
        ports.has(port) ? `${name}${ports.get(port)}` : flag,
      );
}

/** What a checkout has beside its packages. */
const SOURCES = [
  ...["hub", "worker", "shared", "drizzle", "clients", "scripts"],
  ...["package.json", "tsconfig.json", "bunfig.toml", "bun.lock", "README.md", "LICENSE"],
];

export interface Reader extends AsyncDisposable {
  /** Pastes the blocks into a fresh shell; what is wrong, one line each. */
  read(blocks: readonly Block[]): Promise<string[]>;
  /** A fresh shell that has these commands pasted and ends with them, or with the first that fails. */
  shell(commands: string): Program;
}

/** Dev mode as `quickstart` leaves it, and a home and a checkout for who reads. */
export async function startReader(): Promise<Reader> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-reader-"));
  // The browser's own account goes through it.
  chmodSync(dir, 0o711);
  const [home, checkout] = [join(dir, "home"), join(dir, "checkout")];
  for (const path of [home, join(checkout, ".bun/bin")]) mkdirSync(path, { recursive: true });
  // What pages have built lies in the checkout, so that it is one of the reader's own.
  for (const name of SOURCES)
    cpSync(join(ROOT, name), join(checkout, name), {
      recursive: true,
      filter: (path) => !path.endsWith("/node_modules"),
    });
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  symlinkSync(process.execPath, join(checkout, ".bun/bin/bun"));
  // Each call says on standard error how it ended: an error's body is all that `curl -s` tells a reader.
  await Bun.write(
    join(home, ".curlrc"),
    'write-out = "%{stderr}HTTP %{http_code} %{url_effective}\\n"\n',
  );
  const dev = startProgram([...PROGRAM, "dev", "--port=0"], {
    cwd: checkout,
    // A busy machine must not answer 503 where a reader's own would have a lane.
    env: { FLOTILLA_TEST: dir, SVC_SUBMIT_WAIT_S: "60", ...lanePorts() },
  });
  const shown = (what: RegExp) => until("the banner", 60_000, () => what.exec(dev.stdout)?.[1]);
  const url = await shown(/(http:\/\/127\.0\.0\.1:\d+)\s/);
  const demo_port = await shown(/demo page +http:\/\/[^:]+:(\d+)/);
  const admin = await shown(/password (\S+)/);
  await until("a warm lane", 60_000, async () => {
    const answer = await fetch(`${url}/workers`, { signal: AbortSignal.timeout(60_000) });
    const { workers } = (await answer.json()) as { workers: { lanes: { state: string }[] }[] };
    return workers.some(({ lanes }) => lanes.some(({ state }) => state === "warm"));
  });
  const model = await startGuideModel();
  const here = portsHere(new URL(url).port, demo_port, new URL(model.url).port);
  const env = {
    HOME: home,
    PATH: `${home}/.local/bin:${LOGIN_PATH}`,
    LANG: "C.UTF-8",
    TERM: "dumb",
    // What the default is where dev mode has the port 8000; the pages say where this password comes from.
    SVC_HUB: url,
    ADMIN: admin,
    FLOTILLA_TEST: dir,
    TMPDIR: process.env.TMPDIR ?? "/tmp",
    ...lanePorts(),
  };
  const shell = (commands: string) => startShell(here(commands), checkout, env);
  return {
    read: (blocks) => readBlocks(blocks, shell),
    shell,
    [Symbol.asyncDispose]: async () => {
      dev.kill("SIGTERM");
      await dev.exited;
      await model.stop();
      await until("the end of every process", 60_000, () =>
        processesOf(dir).every(({ state }) => state === "Z"),
      );
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function startShell(script: string, cwd: string, env: Record<string, string>): Program {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const argv = ["env", "-i", ...variables, "bash", "-eo", "pipefail", "-c", script];
  return startProgram(argv, { cwd });
}

async function readBlocks(blocks: readonly Block[], start: Reader["shell"]): Promise<string[]> {
  const script = blocks
    .map(
      ({ commands }, i) =>
        `printf '\\n${BLOCK}${i}\\n'; printf '\\n${BLOCK}${i}\\n' >&2\n${commands}`,
    )
    .join("\n");
  const shell = start(script);
  const code = await ended(shell);
  const [out, err] = [shell.stdout, shell.stderr].map((text) =>
    text.split(new RegExp(`^${BLOCK}\\d+\n`, "m")).slice(1),
  );
  const reached = out?.length ?? 0;
  const problems = blocks.slice(0, reached).flatMap(({ commands, seen }, i) => {
    const screen = out?.[i] ?? "";
    const missing = unseen(seen.join("\n"), screen).map(
      (line) => `not seen: ${line}\n${screen.slice(-2_000)}`,
    );
    return [...missing, ...wrongStatuses(commands, err?.[i] ?? "")];
  });
  if (code === 0) return problems;
  const last = blocks[reached - 1]?.commands ?? "";
  return [
    ...problems,
    `ended with ${code} in\n${last}\n${out?.at(-1)?.slice(-2_000)}\n${err?.at(-1)?.slice(-2_000)}`,
  ];
}

/** Calls that failed though the page does not say so, and failures that it tells of and nobody had. */
function wrongStatuses(commands: string, stderr: string): string[] {
  const calls = [...stderr.matchAll(/^HTTP (\d{3}) (.*)$/gm)].map(([, status, at]) => ({
    status: Number(status),
    at,
  }));
  const told = announced(commands);
  const failed = calls.filter(
    ({ status }) => (status >= 400 || status === 0) && !told.includes(status),
  );
  return [
    ...failed.map(({ status, at }) => `${at} was answered with ${status} in\n${commands}`),
    ...told
      .filter((status) => !calls.some((call) => call.status === status))
      .map((status) => `no call was answered with ${status} in\n${commands}`),
  ];
}

/** The exit code of a shell that is killed when it prints nothing any more. */
export async function ended(shell: Program): Promise<number | string> {
  let printed = -1;
  for (;;) {
    const code = await Promise.race([shell.exited, Bun.sleep(SILENT_MS).then(() => null)]);
    if (code !== null) return code;
    const now = shell.stdout.length + shell.stderr.length;
    if (now === printed) {
      shell.kill("SIGKILL");
      return `nothing printed for ${SILENT_MS / 1_000} s`;
    }
    printed = now;
  }
}

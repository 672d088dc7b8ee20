import { readFileSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { dirname } from "node:path";
import { RUNTIME_FLAGS } from "#shared/kit/runtime-flags.ts";
import { openRunGroups } from "./cgroup.ts";
import { RUN_LIMITS } from "./limits.ts";
import {
  closeScratch,
  openScratch,
  type RunFiles,
  reachableRuntime,
  removeRunFiles,
  type Scratch,
  sweepScratch,
  writeRunFiles,
} from "./scratch.ts";
import { isMachine } from "./seccomp/filter.ts";
import { withInputs, writeFilter } from "./seccomp/filter-file.ts";

const SANDBOX_KINDS = ["bubblewrap", "process"] as const;
export type SandboxKind = (typeof SANDBOX_KINDS)[number];

/** The parts of a hub's configuration that decide. */
export interface SandboxConfig {
  readonly sandbox: SandboxKind;
  readonly data_dir: string;
  /** Directories to look programs up in; those of PATH when it is left out. */
  readonly path?: string;
}

/** A way of running scripts that was tried and works. */
export interface Sandbox extends Runtime {
  /** Groups of runs whose memory the kernel bounds; null where the hub was given none, and `why` when that is odd. */
  readonly memory: ReturnType<typeof openRunGroups>;
}

/** How runs are started. */
interface Runtime {
  readonly kind: SandboxKind;
  readonly scratch: Scratch;
  /** What is started for a run's files, with which environment, and with which files as its descriptors from 3 on. */
  commandOf(
    files: RunFiles,
    uid: number | null,
    /** Seconds on a core, of each process. `args` of the runtime, instead of those that run the script. */
    run: { cpu_s: number; args?: string[] },
  ): { argv: string[]; env: Record<string, string>; inputs: string[] };
  /** The user of the next run; null where the hub is not root, and it is the hub's. */
  nextUid(): number | null;
}

/** Why scripts cannot be run here, in words for the operator, and what to do about it. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly found: string;
  readonly advice: string;
  constructor(found: string, advice: string) {
    super(`${found}: ${advice}, ${HOW_TO_GO_ON}`);
    this.found = found;
    this.advice = advice;
  }
}

const PROBE_MS = 10_000;
const RUNTIME = "/run/flotilla";
const PRLIMIT = "/run/prlimit";
const APP = "/app";
const DOOR = "/run/door";
/** The descriptor on which bubblewrap is given its filter. */
const FILTER_FD = 3;
/** Inside: nobody. */
const INNER_ID = "65534";

const HOW_TO_GO_ON =
  "or set SVC_SANDBOX=process, which gives scripts the network and the files of the hub's machine";

/** Finds a program, or throws SandboxError with the package it is in. */
type FindProgram = (name: string, apt: string) => string;

/** @param path directories to look in; undefined: those of PATH. */
const programFinder =
  (path: string | undefined): FindProgram =>
  (name, apt) => {
    const found = Bun.which(name, path === undefined ? {} : { PATH: path });
    if (found === null)
      throw new SandboxError(`${name} is not installed`, `apt-get install ${apt}`);
    return found;
  };

/** Shared libraries of programs, as the dynamic linker finds them. */
async function librariesOf(find: FindProgram, programs: string[]): Promise<string[]> {
  const child = Bun.spawn([find("ldd", "libc-bin"), ...programs], {
    stdout: "pipe",
    stderr: "ignore",
    timeout: 5_000,
  });
  const text = await new Response(child.stdout).text();
  const found = [...text.matchAll(/(?:=>\s+|^\s+)(\/\S+) \(0x/gm)].map(
    ([, path]) => path as string,
  );
  return [...new Set(found)];
}

/** Ids that this user namespace has: a container may have only 65536 of them. */
function highestId(): number {
  const map = readFileSync("/proc/self/uid_map", "latin1").trim().split("\n");
  const ends = map.map((line) => {
    const [inner = 0, , length = 0] = line.trim().split(/\s+/).map(Number);
    return inner + length;
  });
  return Math.min(2_000_065_536, Math.max(...ends)) - 1_000;
}

/** Users in turn, so that runs at the same time have nothing in common, limits per user included. */
function createUids(): () => number | null {
  if (process.getuid?.() !== 0) return () => null;
  const highest = highestId();
  let used = 0;
  return () => {
    used += 1;
    return highest - (used % 1_024);
  };
}

/** Kernels from 5.14 on count processes per user namespace; before, those of the whole user. */
function countsPerNamespace(): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** `nice`: a script that computes leaves the cores to hub and browsers. @throws SandboxError */
function outerArgv(find: FindProgram): (uid: number | null) => string[] {
  const nice = [find("nice", "coreutils"), "-n", "10", "--"];
  if (process.getuid?.() !== 0) return () => nice;
  const setpriv = find("setpriv", "util-linux");
  return (uid) => [setpriv, `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--", ...nice];
}

const rlimits = (tasks: boolean, cpu_s: number): string[] => [
  "--core=0:0",
  `--fsize=${RUN_LIMITS.file}`,
  `--nofile=${RUN_LIMITS.open_files}`,
  // A signal first, which distinguishes this end from others.
  `--cpu=${cpu_s}:${cpu_s + 1}`,
  ...(tasks ? [`--nproc=${RUN_LIMITS.tasks}`] : []),
];

const RUNTIME_ENV: Record<string, string> = {
  BUN_BE_BUN: "1",
  HOME: "/tmp",
  TMPDIR: "/tmp",
  PATH: "/run",
  LANG: "C.UTF-8",
  NO_COLOR: "1",
  DO_NOT_TRACK: "1",
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
  BUN_ENABLE_CRASH_REPORTING: "0",
  // The garbage collector must know the run's limit, and not what the machine has.
  BUN_JSC_forceRAMSize: String(RUN_LIMITS.memory),
};

const RUN_ARGS = ["run", ...RUNTIME_FLAGS];

async function bubblewrap(
  find: FindProgram,
  scratch: Scratch,
  nextUid: () => number | null,
): Promise<Runtime> {
  const bwrap = find("bwrap", "bubblewrap");
  const outer = outerArgv(find);
  const prlimit = find("prlimit", "util-linux");
  const runtime = reachableRuntime(scratch, process.execPath, nextUid());
  const libraries = await librariesOf(find, [runtime, prlimit]);
  const help = Bun.spawnSync([bwrap, "--help"], { timeout: 5_000 }).stdout.toString();
  const nested = help.includes("--disable-userns") ? ["--disable-userns"] : [];
  if (!isMachine(process.arch))
    throw new SandboxError(
      `there is no list of system calls for ${process.arch}`,
      "run the hub on x86-64 or arm64",
    );
  const filter = writeFilter(scratch.dir, process.arch);
  const bind = (from: string, to = from) => ["--ro-bind", from, to];
  return {
    kind: "bubblewrap",
    scratch,
    nextUid,
    commandOf: (files, uid, { cpu_s, args = [...RUN_ARGS, `${APP}/run.ts`, DOOR] }) => ({
      argv: [
        ...outer(uid),
        bwrap,
        "--unshare-user",
        "--unshare-all",
        ...nested,
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--uid",
        INNER_ID,
        "--gid",
        INNER_ID,
        "--clearenv",
        ...Object.entries(RUNTIME_ENV).flatMap(([name, value]) => ["--setenv", name, value]),
        ...libraries.flatMap((path) => bind(path)),
        ...bind(runtime, RUNTIME),
        ...bind(prlimit, PRLIMIT),
        ...bind(files.app, APP),
        ...bind(files.door, DOOR),
        // No /dev/zero: memory that is mapped from it stays when nobody maps it, and no count shows it.
        ...["null", "random", "urandom"].flatMap((name) => {
          const device = `/dev/${name}`;
          return ["--dev-bind", device, device];
        }),
        // The runtime does not start without it; it shows only the sandbox's own processes.
        "--proc",
        "/proc",
        "--size",
        String(RUN_LIMITS.tmp),
        "--tmpfs",
        "/tmp",
        "--chdir",
        "/tmp",
        "--seccomp",
        String(FILTER_FD),
        "--remount-ro",
        "/",
        "--",
        // Without --nproc where other processes of the hub's user would count.
        PRLIMIT,
        ...rlimits(uid !== null || countsPerNamespace(), cpu_s),
        "--",
        RUNTIME,
        ...args,
      ],
      env: {},
      inputs: [filter],
    }),
  };
}

function plainProcess(find: FindProgram, scratch: Scratch, nextUid: () => number | null): Runtime {
  const prlimit = find("prlimit", "util-linux");
  const setpriv = find("setpriv", "util-linux");
  const outer = outerArgv(find);
  const runtime = reachableRuntime(scratch, process.execPath, nextUid());
  return {
    kind: "process",
    scratch,
    nextUid,
    commandOf: (
      files,
      uid,
      { cpu_s, args = [...RUN_ARGS, `${files.app}/run.ts`, files.door] },
    ) => ({
      argv: [
        ...outer(uid),
        setpriv,
        "--pdeathsig=KILL",
        "--no-new-privs",
        "--",
        prlimit,
        ...rlimits(uid !== null, cpu_s),
        "--",
        runtime,
        ...args,
      ],
      env: { ...RUNTIME_ENV, PATH: dirname(runtime) },
      inputs: [],
    }),
  };
}

/** What the operator can do about the words of a sandbox that could not be made. */
function adviceOn(words: string): string {
  if (/mount proc/i.test(words))
    return "nothing may be laid over /proc: in a unit no ProtectKernelTunables=, ProtectKernelLogs= or ProtectProc=, for a container --security-opt systempaths=unconfined";
  if (/seccomp/i.test(words))
    return "run the hub on a kernel with CONFIG_SECCOMP_FILTER, where nothing keeps it from setting filters";
  if (/unknown option|unrecognized/i.test(words))
    return "install a newer bubblewrap (0.4 or later)";
  if (/setting limits|prlimit|cannot set/i.test(words))
    return "the unit's limits must not be below those of scripts (LimitNOFILE=, LimitFSIZE=, LimitCORE=)";
  if (/failed to execute|execvp/i.test(words))
    return "the users that scripts run as must reach the programs: mode 755 on the directories to them";
  if (/no space|quota/i.test(words)) return "free space in SVC_DATA_DIR and /tmp";
  return "flotilla doctor hub says more";
}

/** Bubblewrap's words when it gets no namespaces. */
export const lacksNamespaces = (words: string): boolean =>
  /bwrap: .*(namespace|clone|unshare|uid map|gid map|RTM_NEWADDR|loopback|not permitted|permission denied)/i.test(
    words,
  ) && !/mount proc/i.test(words);

/** Starts and ends one that has nothing to do. @throws SandboxError */
async function tryOut(sandbox: Runtime): Promise<void> {
  const uid = sandbox.nextUid();
  const files = writeRunFiles(sandbox.scratch, { script: "", job: {}, uid });
  try {
    writeFileSync(files.door, "");
    const { argv, env, inputs } = sandbox.commandOf(files, uid, {
      cpu_s: PROBE_MS / 1_000,
      args: ["--version"],
    });
    const child = withInputs(inputs, (fds) =>
      Bun.spawn(argv, {
        cwd: files.dir,
        env,
        stdio: ["ignore", "pipe", "pipe", ...fds],
        timeout: PROBE_MS,
        killSignal: "SIGKILL",
      }),
    );
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code === 0 && out.trim() === Bun.version) return;
    const words = err.trim().split("\n").at(0) || `it ended with ${child.signalCode ?? code}`;
    throw new SandboxError(`${sandbox.kind} does not work, ${words}`, adviceOn(words));
  } finally {
    removeRunFiles(files);
  }
}

async function makeSandbox({ sandbox: kind, data_dir, path }: SandboxConfig): Promise<Sandbox> {
  const find = programFinder(path);
  if (process.platform !== "linux")
    throw new SandboxError("this is not Linux", "run the hub on Linux");
  sweepScratch(data_dir);
  const scratch = openScratch(data_dir);
  const nextUid = createUids();
  const runtime =
    kind === "process"
      ? plainProcess(find, scratch, nextUid)
      : await bubblewrap(find, scratch, nextUid);
  await tryOut(runtime);
  return { ...runtime, memory: openRunGroups() };
}

/** Those of a hub, by its data directory. */
const sandboxes = new Map<string, Map<string, Promise<Sandbox>>>();

/**
 * The sandbox of this hub, tried at its first use; one that did not work is tried again at the next, for the operator may
 * have installed what was missing.
 * @throws SandboxError
 */
export function findSandbox(config: SandboxConfig): Promise<Sandbox> {
  const own = sandboxes.get(config.data_dir) ?? new Map<string, Promise<Sandbox>>();
  sandboxes.set(config.data_dir, own);
  const key = `${config.sandbox} ${config.path}`;
  const known = own.get(key);
  if (known !== undefined) return known;
  const made = makeSandbox(config);
  own.set(key, made);
  made.catch(() => own.delete(key));
  return made;
}

/** What the sandboxes of a hub have on the disk is gone with it. No script may run any more. */
export function closeSandboxes(data_dir: string): void {
  sandboxes.delete(data_dir);
  closeScratch(data_dir);
}

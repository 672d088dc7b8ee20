import {
  type ChildProcess,
  type ChildProcessByStdio,
  type StdioOptions,
  spawn,
} from "node:child_process";
import type { Readable } from "node:stream";
import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { createEnds } from "#shared/kit/ends.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { offerToOomKiller } from "#shared/kit/proc.ts";
import type { RunGroup } from "./cgroup.ts";
import { type OpenDoor, openDoor } from "./door.ts";
import { endOf, type Stopped } from "./end-of-run.ts";
import { RUN_LIMITS } from "./limits.ts";
import { prepareScript } from "./prepare-script.ts";
import { createTree, type ProcessTree } from "./process-tree.ts";
import { findSandbox, type Sandbox, type SandboxConfig, type SandboxKind } from "./sandbox.ts";
import { type RunFiles, removeRunFiles, writeRunFiles } from "./scratch.ts";
import { allScriptArguments } from "./script-arguments.ts";
import type { ScriptEnd, ScriptOutcome, ScriptRun } from "./script-run.ts";
import { withInputs } from "./seccomp/filter-file.ts";
import { watchRun } from "./watch-run.ts";

/** What running scripts needs of a hub. */
export interface RunnerContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: SandboxConfig;
}

/** What a script may take to leave once it has ended: its output has to get out. */
const LEAVE_MS = 6_000;
/** What was printed last may still be in the pipes. */
const DRAIN_MS = 250;

/**
 * Runs one script in a sandbox of its own, to its end (rules/sandbox#one-sandbox-for-each-attempt). Never rejects: what cannot be
 * run ends as `broken`, with what the operator can do about it. When it resolves nothing of the run is left, and no call
 * of it is under way.
 */
export async function runScript(ctx: RunnerContext, run: ScriptRun): Promise<ScriptOutcome> {
  const kind = ctx.config.sandbox;
  const began = performance.now();
  const log = ctx.log.child({ job_id: run.job_id, attempt: run.attempt });
  let files: RunFiles | null = null;
  let door: OpenDoor | null = null;
  const gone = new AbortController();
  try {
    if (run.signal.aborted) return nothing(kind, "cancelled", null);
    const sandbox = await findSandbox(ctx.config);
    const uid = sandbox.nextUid();
    const script = prepareScript(run.code);
    files = writeRunFiles(sandbox.scratch, {
      script,
      job: { ...run.job, actions: allScriptArguments() },
      uid,
    });
    const tree = createTree();
    door = await openDoor({
      clock: ctx.clock,
      log,
      path: files.door,
      uid,
      door: run.door,
      onConnect: tree.look,
      // One that has ended and stays is ended; it may have stopped what should have taken it down.
      onSaid: () => void ctx.clock.sleep(LEAVE_MS, gone.signal).then(tree.kill),
    });
    return await runIn(ctx, { run, sandbox, files, uid, door, tree });
  } catch (err) {
    log.error({ err }, "a script could not be run");
    return { ...nothing(kind, "broken", errorMessage(err)), run_ms: since(began) };
  } finally {
    gone.abort();
    await door?.close();
    if (files) removeRunFiles(files);
  }
}

const since = (began: number): number => Math.round(performance.now() - began);

const nothing = (sandbox: SandboxKind, end: ScriptEnd, detail: string | null): ScriptOutcome => ({
  end,
  detail,
  exit_code: null,
  stdout: "",
  stderr: "",
  result: null,
  error: null,
  sandbox,
  first_action_ms: null,
  run_ms: 0,
  actions: 0,
});

interface Running {
  run: ScriptRun;
  sandbox: Sandbox;
  files: RunFiles;
  uid: number | null;
  door: OpenDoor;
  tree: ProcessTree;
}

/** Where the hub was given a part of the tree of control groups; without one, the run is only watched. */
function groupOf({ memory }: Sandbox, log: Log): RunGroup | null {
  try {
    if (memory.why !== null) log.warn({ why: memory.why }, "no memory bound by the kernel");
    return memory.groups?.open() ?? null;
  } catch (err) {
    log.warn({ why: errorMessage(err) }, "no memory bound by the kernel");
    return null;
  }
}

/** Rejects when it cannot be started. */
const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code));
  });

const closed = (stream: Readable): Promise<void> =>
  new Promise((resolve) => stream.once("close", () => resolve()));

async function runIn({ clock, log }: RunnerContext, running: Running): Promise<ScriptOutcome> {
  const { run, sandbox, files, uid, door, tree } = running;
  // As long on one core as it may run at all: threads do not make a script more expensive than others.
  const cpu_s = Math.ceil(run.timeout_ms / 1_000);
  const { argv, env, inputs } = sandbox.commandOf(files, uid, { cpu_s });
  const group = groupOf(sandbox, log);
  const [program = "", ...args] = [...(group?.enter ?? []), ...argv];
  const out = createEnds(RUN_LIMITS.stream);
  const err = createEnds(RUN_LIMITS.stream);
  const over = new AbortController();
  const began = performance.now();
  const child = withInputs(inputs, (fds) => {
    const stdio: StdioOptions = ["ignore", "pipe", "pipe", ...fds];
    const started = spawn(program, args, { detached: true, cwd: files.dir, env, stdio });
    // The types know the streams only where no further descriptors follow them.
    return started as ChildProcessByStdio<null, Readable, Readable>;
  });
  child.stdout.on("data", out.push);
  child.stderr.on("data", err.push);
  const exited = exitOf(child);
  const drained = Promise.all([child.stdout, child.stderr].map(closed));
  const { pid } = child;
  if (pid !== undefined) tree.begin(pid);
  let stopped: Stopped | null = null;
  // At once and not by SIGTERM first: a script whose door is closed has nothing left that it could put in order.
  const stop = (why: Stopped): void => {
    if (over.signal.aborted) return;
    stopped ??= why;
    tree.kill();
  };
  const cancelled = () => stop({ end: "cancelled", detail: null });
  run.signal.addEventListener("abort", cancelled, { once: true, signal: over.signal });
  if (run.signal.aborted) cancelled();
  void clock.sleep(run.timeout_ms, over.signal).then(() => {
    const detail = `the script did not end within ${run.timeout_ms / 1_000} s`;
    stop({ end: "timeout", detail });
  });
  if (pid !== undefined) {
    offerToOomKiller(pid);
    const onExcess = (words: string) => stop({ end: "limit", detail: `the script used ${words}` });
    const first = sandbox.kind === "bubblewrap" ? tree.first : () => null;
    void watchRun({ pid, first, clock, over: over.signal, onExcess });
  }
  try {
    const code = await exited;
    over.abort();
    await tree.end(clock);
    await endsWithin(clock, DRAIN_MS, drained);
    const { said, connected, first_action_at, actions } = door;
    return {
      ...endOf({
        stopped,
        said,
        code,
        connected,
        stderr: err.text(),
        ran_out: group?.ranOut() ?? false,
      }),
      exit_code: code,
      stdout: out.text(),
      stderr: err.text(),
      result: said && "result" in said ? said.result : null,
      error: said && "error" in said ? said.error : null,
      sandbox: sandbox.kind,
      first_action_ms: first_action_at === null ? null : Math.round(first_action_at - began),
      run_ms: since(began),
      actions,
    };
  } finally {
    over.abort();
    tree.kill();
    child.stdout.destroy();
    child.stderr.destroy();
    group?.close();
  }
}

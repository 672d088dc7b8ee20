import { AppError, invalid } from "#shared/kit/errors.ts";
import {
  isSessionAction,
  SESSION_ACTIONS,
  type SessionActionArgs,
  type SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";
import { TakeName } from "#shared/protocol/link/messages.ts";
import type { ScriptDoor, ScriptReply } from "../runner/script-run.ts";
import { actOn, checkInputFiles } from "../sessions/act.ts";
import { resultOf } from "../sessions/calls.ts";
import { callOwn, type ScriptedJob, say } from "./job.ts";
import { storeFile } from "./job-output.ts";

/** One action of a script that the page took. */
export interface TraceStep {
  action: SessionActionName;
  args: Record<string, unknown>;
  /** The page's URL afterwards. */
  url: string;
}

/** What a script may do in one attempt, and what it did. */
export interface AttemptDoor extends ScriptDoor {
  readonly trace: readonly TraceStep[];
}

/** Lines a script may put into its job's story; a loop that logs must not fill the database. */
const MAX_LINES = 2_000;
/** How many actions are kept for a recipe; a longer script gives none. */
const MAX_TRACE = 200;
const NAME_MS = 5_000;

export function openAttemptDoor(job: ScriptedJob): AttemptDoor {
  const { ctx, at } = job;
  const trace: TraceStep[] = [];
  const used = new Map<string, number>();
  let lines = 0;
  return {
    trace,
    act: async (action, raw, signal): Promise<ScriptReply> => {
      const args = parseArgs(action, raw);
      if (action === "set_input_files")
        checkInputFiles(args as SessionActionArgs<"set_input_files">);
      const work = async (): Promise<ScriptReply> => {
        const reply = await actOn(ctx, at, action, args, "script");
        const result = await resultOf(ctx, at, reply);
        const { url, title } = at;
        if (trace.length <= MAX_TRACE) trace.push({ action, args, url });
        return { result, url, title, ms: reply.ms };
      };
      return unlessAborted(work(), signal);
    },
    save: async (asked, mime, body) => {
      const type = mime ?? Bun.file(asked).type;
      const name = await nameFor(job, used, asked, type);
      return storeFile(job, name, type, new Uint8Array(body));
    },
    log: async (level, message, fields) => {
      lines += 1;
      if (lines <= MAX_LINES) await say(job, level, "run", message, { ...fields });
      if (lines === MAX_LINES)
        await say(job, "warn", "run", `further lines of this attempt are left out: ${MAX_LINES}`);
    },
  };
}

function parseArgs<A extends SessionActionName>(action: A, raw: unknown): SessionActionArgs<A> {
  if (!isSessionAction(action))
    throw new AppError("invalid", `there is no action ${String(action).slice(0, 100)}`);
  const parsed = SESSION_ACTIONS[action].args.safeParse(raw ?? {});
  if (parsed.success) return parsed.data as SessionActionArgs<A>; // that schema's output
  const issue = parsed.error.issues[0];
  const at = issue?.path.join(".");
  throw new AppError("invalid", `${action}: ${at ? `${at}: ` : ""}${issue?.message ?? "invalid"}`);
}

/**
 * What the file is called: unique among everything the job stores, so that two saves of one attempt are two files; the
 * same save of a later attempt replaces the earlier one's.
 */
async function nameFor(
  job: ScriptedJob,
  used: Map<string, number>,
  asked: string,
  mime: string,
): Promise<string> {
  const wanted = TakeName.safeParse({ name: asked, mime });
  if (!wanted.success || asked.trim() === "")
    throw invalid(["name"], "must be a file name of at most 255 characters");
  const names = job.saved.get(asked) ?? [];
  job.saved.set(asked, names);
  const at = used.get(asked) ?? 0;
  used.set(asked, at + 1);
  const known = names[at];
  if (known !== undefined) return known;
  const answer = (await callOwn(job, "take_name", wanted.data, NAME_MS)) as { name: string };
  names[at] = answer.name;
  return answer.name;
}

/** The script has ended: nobody waits for its last actions. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new AppError("unavailable", "the script has ended"));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", stop));
}

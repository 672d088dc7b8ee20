import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runScript } from "#hub/fleet/runner/run-script.ts";
import { closeSandboxes, type SandboxKind } from "#hub/fleet/runner/sandbox.ts";
import type {
  ScriptDoor,
  ScriptOutcome,
  ScriptReply,
  ScriptRun,
} from "#hub/fleet/runner/script-run.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";

/** Scripts in real sandboxes, with a door that keeps what they asked for. */
export interface ScriptRig {
  readonly data_dir: string;
  readonly acts: { action: string; args: unknown }[];
  readonly saved: { name: string; mime: string | null; body: Uint8Array }[];
  readonly told: { level: string; message: string; fields: object }[];
  run(code: string, options?: RigOptions): Promise<ScriptOutcome>;
  close(): void;
}

interface RigOptions {
  kind?: SandboxKind;
  /** Where programs are looked up. */
  path?: string;
  timeout_ms?: number;
  signal?: AbortSignal;
  job?: ScriptRun["job"];
  /** Answers every action; by default its own name. */
  act?: (action: string, args: unknown, signal: AbortSignal) => unknown;
  save?: ScriptDoor["save"];
}

export const reply = (result: unknown): ScriptReply => ({ result, url: "", title: "", ms: 1 });

export function createScriptRig(kind: SandboxKind = "bubblewrap"): ScriptRig {
  const data_dir = mkdtempSync(join(tmpdir(), "flotilla-scripts-"));
  const rig: ScriptRig = {
    data_dir,
    acts: [],
    saved: [],
    told: [],
    run: (code, options = {}) => {
      for (const kept of [rig.acts, rig.saved, rig.told]) kept.length = 0;
      const door: ScriptDoor = {
        act: async (action, args, signal) => {
          rig.acts.push({ action, args });
          return reply(await (options.act ?? ((name) => name))(action, args, signal));
        },
        save:
          options.save ??
          (async (name, mime, body) => {
            rig.saved.push({ name, mime, body });
            return { name, size: body.length };
          }),
        log: async (level, message, fields) => {
          rig.told.push({ level, message, fields });
        },
      };
      return runScript(
        {
          clock: systemClock,
          log: silentLog,
          config: {
            sandbox: options.kind ?? kind,
            data_dir,
            ...(options.path !== undefined && { path: options.path }),
          },
        },
        {
          job_id: "job",
          attempt: 1,
          code,
          door,
          job: options.job ?? { url: "http://shop.test/", goal: "the price" },
          timeout_ms: options.timeout_ms ?? 120_000,
          signal: options.signal ?? new AbortController().signal,
        },
      );
    },
    close: () => {
      closeSandboxes(data_dir);
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
  return rig;
}

import { PYTHON_EXAMPLE, TYPESCRIPT_EXAMPLE } from "./code-examples.ts";

/**
 * What runs the tasks of a workload (rules/pipeline-workloads#executor-configuration), and what each kind needs. The API,
 * the workers and the web app's forms read this table; how a task runs is in `worker/tasks/executors.ts`.
 */
interface ExecutorKind {
  /** Keys of `executor_config` that it takes; one that no kind names is taken by all. */
  takes: readonly string[];
  /** One of these keys has to be given; none: nothing is required. */
  needs: readonly string[];
  /** Keys that the `executor` of a plugin's manifest has to have. */
  manifest_needs: readonly string[];
  /**
   * How the tasks of a batch run: in one call of its code (`together`), one after the other (`one_by_one`), or all at a
   * time, where the worker only waits for what runs elsewhere (`side_by_side`).
   */
  concurrency: "together" | "one_by_one" | "side_by_side";
  /** Whether a plugin's folder has to be on the worker for it to run. */
  needs_plugin: boolean;
  /** Whether it runs on the worker whatever its workload says: only who is trusted with code may set it. */
  runs_code: boolean;
  /** For who creates a workload: what it is for, a configuration, and keys of tasks that it can do something with. */
  text: string;
  example: Record<string, unknown>;
  pks: readonly string[];
}

const MODULE_KEYS = [
  "source_path",
  "module",
  "plugin",
  "code",
  "code_version",
  "init_kwargs",
  "recycle_after",
  "fleet",
] as const;

export const EXECUTORS = {
  command: {
    takes: ["argv", "plugin", "fleet"],
    needs: ["argv", "plugin"],
    manifest_needs: ["argv"],
    concurrency: "one_by_one",
    needs_plugin: true,
    runs_code: true,
    text: "A program per task: the task is JSON on its stdin, its stdout is kept, an exit code other than 0 is a failure.",
    example: { argv: ["sh", "-c", 'cat; echo "hello from $$" >&2'] },
    pks: ["first", "second"],
  },
  python_module: {
    takes: [...MODULE_KEYS, "python"],
    needs: ["module", "plugin", "code", "code_version"],
    manifest_needs: [],
    concurrency: "together",
    needs_plugin: true,
    runs_code: true,
    text: "Python: written here, a plugin, or a module on the worker's machine. It is imported once, kept warm, and called for each batch.",
    example: { code: PYTHON_EXAMPLE },
    pks: ["first", "second"],
  },
  bun_module: {
    takes: MODULE_KEYS,
    needs: ["module", "source_path", "plugin", "code", "code_version"],
    manifest_needs: [],
    concurrency: "together",
    needs_plugin: true,
    runs_code: true,
    text: "TypeScript or JavaScript: written here, a plugin, or a module on the worker's machine. It is kept warm between tasks.",
    example: { code: TYPESCRIPT_EXAMPLE },
    pks: ["first", "second"],
  },
  fleet_fetch: {
    takes: ["options", "plugin", "hub_url"],
    needs: [],
    manifest_needs: [],
    concurrency: "side_by_side",
    needs_plugin: false,
    runs_code: false,
    text: "Each task's key is an address; a browser of the fleet opens it and keeps what it downloads.",
    example: { options: { scroll: true } },
    pks: ["https://example.com/"],
  },
} as const satisfies Record<string, ExecutorKind>;

export const EXECUTOR_TYPES = Object.keys(EXECUTORS) as (keyof typeof EXECUTORS)[];

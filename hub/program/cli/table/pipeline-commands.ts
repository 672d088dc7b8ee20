import { CLIENT, FAILURE_FLAGS, LABEL, OUTPUT, TASK_FILE, WITH_LABEL } from "../flags.ts";
import { TABLE_FLAGS } from "../table-flags.ts";
import type { CommandTable } from "./entry.ts";

/** Commands of the pipeline. */
export const PIPELINE_COMMANDS = {
  submit: {
    kind: "client",
    about: "put tasks into a workload's queue",
    words: ["SLUG", "[PK…]"],
    flags: [
      ...CLIENT,
      TASK_FILE,
      ...TABLE_FLAGS,
      { name: "wait", help: "wait until the tasks are done; exit 1 if any failed" },
      LABEL,
      ...OUTPUT,
    ],
  },
  queue: {
    kind: "client",
    about: "count the tasks of a workload",
    words: ["SLUG"],
    flags: [...CLIENT, { name: "watch", help: "follow the counts until Ctrl-C" }, ...OUTPUT],
  },
  runs: {
    kind: "client",
    about: "list the runs of a workload, newest first",
    words: ["SLUG"],
    flags: [
      ...CLIENT,
      { name: "follow", help: "print runs as they are recorded, until Ctrl-C" },
      { name: "failed", help: "only unsuccessful runs" },
      { name: "limit", value: "N", help: "how many, newest first (50; with --follow 10)" },
      WITH_LABEL,
      ...OUTPUT,
    ],
  },
  failures: {
    kind: "client",
    about: "list failures in groups, or retry, cancel, delete or move what a filter finds",
    words: ["[list|retry|cancel|delete|move]"],
    flags: [...CLIENT, ...FAILURE_FLAGS],
  },
  retry: {
    kind: "client",
    about:
      "retry a job, tasks by their keys, the task of a run, or what a filter finds after it said how many",
    words: ["[ID|SLUG]", "[KEY…]"],
    flags: [...CLIENT, ...FAILURE_FLAGS],
    examples: [
      "flotilla retry JOB",
      "flotilla retry SLUG KEY",
      "flotilla retry --workload SLUG --text timeout",
    ],
  },
  workloads: {
    kind: "client",
    about: "list, show, create, replace, pause, resume and delete workloads",
    words: ["[list|show|create|update|pause|resume|delete]", "[SLUG]"],
    flags: [
      ...CLIENT,
      {
        name: "file",
        short: "f",
        value: "FILE",
        help: "its settings as JSON, YAML or TOML; - reads JSON from standard input",
      },
      { name: "yes", help: "delete it with its queue; its runs stay" },
      { name: "force", help: "with delete: also while tasks are claimed" },
      ...OUTPUT,
    ],
    examples: [
      "flotilla workloads create -f thumbnails.yaml",
      "flotilla workloads pause thumbnails",
    ],
  },
  tasks: {
    kind: "client",
    about: "list the tasks in a workload's queue; show one with its attempts, cancel some",
    words: ["list|show|cancel", "SLUG", "[KEY…]"],
    flags: [
      ...CLIENT,
      {
        name: "state",
        value: "pending|claimed|failed|ready|delayed",
        help: "only tasks in this state",
      },
      { name: "limit", value: "N", help: "how many (50)" },
      WITH_LABEL,
      ...OUTPUT,
    ],
    examples: [
      "flotilla tasks list thumbnails --state failed",
      "flotilla tasks cancel thumbnails page-1 page-2",
    ],
  },
} as const satisfies CommandTable;

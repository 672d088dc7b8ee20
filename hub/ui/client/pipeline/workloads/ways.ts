import { EXECUTORS } from "#shared/protocol/executors.ts";
import type { ExecutorType } from "#shared/protocol/schema/workload.ts";
import { DEFAULTS, type Draft, draftOf } from "../workload/form/draft.ts";
import type { Field } from "../workload/form/fields.ts";

/** How somebody makes a workload: code that is written here, a plugin that is there, or what needs no code. */
export type Way = ExecutorType | "plugin";

interface Kind {
  title: string;
  ways: { value: Way; label: string }[];
}
export const KINDS: Kind[] = [
  {
    title: "Write code",
    ways: [
      { value: "python_module", label: "Python" },
      { value: "bun_module", label: "TypeScript" },
    ],
  },
  { title: "Use a plugin", ways: [{ value: "plugin", label: "A plugin" }] },
  {
    title: "Program or browser",
    ways: [
      { value: "command", label: "A program" },
      { value: "fleet_fetch", label: "Browser jobs" },
    ],
  },
];

export const kindOf = (way: Way): Kind =>
  KINDS.find(({ ways }) => ways.some(({ value }) => value === way)) ?? (KINDS[0] as Kind);
export const isWay = (text: string): text is Way =>
  KINDS.some(({ ways }) => ways.some(({ value }) => value === text));

/** The fields that matter first; the others are folded. */
export const MAIN: Record<Way, Field["path"][]> = {
  python_module: ["executor_config.code"],
  bun_module: ["executor_config.code"],
  plugin: ["executor_config.init_kwargs"],
  command: ["executor_config.argv"],
  fleet_fetch: ["executor_config.options"],
};

export const TEXTS: Record<Way, string> = {
  python_module: EXECUTORS.python_module.text,
  bun_module: EXECUTORS.bun_module.text,
  plugin:
    "A folder of code that somebody has put onto this server; workers fetch it by themselves.",
  command: EXECUTORS.command.text,
  fleet_fetch: EXECUTORS.fleet_fetch.text,
};

/** The form's contents to begin with. */
export function draftFor(way: Way): Draft {
  const executor_type = way === "plugin" ? "python_module" : way;
  const executor_config = way === "plugin" ? {} : EXECUTORS[way].example;
  return { ...draftOf({ ...DEFAULTS, executor_type, executor_config }), slug: "" };
}

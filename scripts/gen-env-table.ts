import type { z } from "zod";
import { loadHubConfig } from "#hub/platform/config.ts";
import { HubEnv } from "#hub/platform/hub-env.ts";
import { COMMANDS } from "#hub/program/cli/commands.ts";
import { type Flag, MODE_FLAGS, MODES } from "#hub/program/cli/flags.ts";
import { spellDefault } from "#hub/program/variables/describe.ts";
import { SECRETS } from "#hub/program/variables/known.ts";
import { loadWorkerConfig, WorkerEnv } from "#worker/config.ts";
import { generatedPage, table, writeOrCheck } from "./generated-page.ts";

/** Writes the guide's page of variables from the schemas that read them; `--check` only compares. */

interface Variable {
  name: string;
  readers: string[];
  fallback: string;
  meaning: string;
}

const GIB = 1024 ** 3;

/** The default as somebody would write it into the variable. */
function spell(name: string, schema: z.ZodType): string {
  const value = spellDefault(name, schema) ?? "unset";
  const bytes = Number(value);
  return name.endsWith("_BYTES") && bytes >= GIB / 4 ? `${value} (${bytes / GIB} GiB)` : value;
}

/** Defaults that depend on the mode or on other variables: the schema has none, the configuration does. */
const FROM_CONFIGURATION: Record<string, string> = {
  MAX_CONCURRENT: `LANE_POOL (${loadWorkerConfig({}, {}).max_concurrent})`,
  PUBLIC_BASE_URL: `${loadHubConfig({}, {}, "hub").public_base_url} (hub mode)`,
  SVC_HOST: `${loadHubConfig({}, {}, "hub").host}; ${loadHubConfig({}, {}, "dev").host} (dev mode)`,
};

const variablesOf = (reader: string, schema: z.ZodObject): Variable[] =>
  Object.entries(schema.shape).map(([name, field]) => {
    const meaning = (field as z.ZodType).description;
    if (!meaning) throw new Error(`${name} has no description`);
    return {
      name,
      readers: [reader],
      fallback: FROM_CONFIGURATION[name] ?? spell(name, field as z.ZodType),
      meaning,
    };
  });

/** What the program and its commands read by themselves. */
const COMMAND_LINE: Variable[] = [
  {
    name: "SVC_MODE",
    readers: ["all"],
    fallback: "unset",
    meaning: `Mode to run when the command line names none: ${MODES.join(", ")}`,
  },
  {
    name: "SVC_HUB",
    readers: ["client"],
    fallback: "http://localhost:8000",
    meaning: "Hub the commands talk to",
  },
  {
    name: "SVC_API_TOKEN",
    readers: ["client"],
    fallback: "unset",
    meaning: "sent by the commands",
  },
  {
    name: "SVC_CONFIG",
    readers: ["all"],
    fallback: "unset",
    meaning:
      "File of variables in TOML, under the same names; flags and the environment override it",
  },
  {
    name: "SVC_EXIT_ON_STDIN_CLOSE",
    readers: ["hub", "worker"],
    fallback: "0",
    meaning: "1: stop when standard input closes, in case the supervisor dies",
  },
];

function merge(all: Variable[]): Variable[] {
  const byName = new Map<string, Variable>();
  for (const variable of all) {
    const known = byName.get(variable.name);
    if (known) {
      known.readers = [...new Set([...known.readers, ...variable.readers])];
      if (COMMAND_LINE.includes(variable)) known.meaning += `; ${variable.meaning}`;
    } else byName.set(variable.name, { ...variable });
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The lines of the page's table. */
export function envTable(): string[] {
  const of_commands: readonly Flag[] = Object.values(COMMANDS).flatMap(({ flags }) => flags);
  const flags = [...Object.values(MODE_FLAGS).flat(), ...of_commands];
  const rows = merge([
    ...variablesOf("hub", HubEnv),
    ...variablesOf("worker", WorkerEnv),
    ...COMMAND_LINE,
  ]).map((v) => {
    const flag = flags.find((f) => f.env === v.name);
    return [
      `\`${v.name}\`${SECRETS.includes(v.name) ? " or `…_FILE`" : ""}${flag ? ` \`--${flag.name}\`` : ""}`,
      v.readers.join(", "),
      v.fallback,
      v.meaning.replace(/\.$/, ""),
    ];
  });
  return table(["Variable, flag", "Read by", "Default", "Meaning"], rows);
}

const PAGE = [
  "# Variables",
  "",
  "Every variable that a mode or command reads, with its flag, its default and its meaning.",
  "",
  "Blank means unset. [Configure a service](../how-to/configuration.md) says where values may come from. Where the table says `or …_FILE`, a file may hold the value. The table is generated from the schemas that read the variables (`bun run gen`).",
  "",
];

if (import.meta.main)
  await writeOrCheck([await generatedPage("reference/variables", [...PAGE, ...envTable()])]);

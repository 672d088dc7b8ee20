import { join } from "node:path";
import { runTool, type ToolResult } from "./run-tool.ts";

const ROOT = join(import.meta.dir, "..");
/** Ten times what the slowest needs alone: beside other work it waits for the processor. */
const TIMEOUT_MS = 300_000;
const BIOME = [join(ROOT, "node_modules/.bin/biome")];
const BIOME_FLAGS = [
  "--config-path=scripts/biome.jsonc",
  "--error-on-warnings",
  "--max-diagnostics=100",
];
const script = (name: string, ...flags: string[]) => [
  process.execPath,
  `scripts/${name}.ts`,
  ...flags,
];

/** Every gate of a change; each is one command that fails with what to mend. */
const CHECKS: [string, string[]][] = [
  ["format", [...BIOME, "format", ...BIOME_FLAGS, "."]],
  ["lint", [...BIOME, "lint", ...BIOME_FLAGS, "."]],
  [
    "imports",
    [...BIOME, "check", ...BIOME_FLAGS, "--formatter-enabled=false", "--linter-enabled=false", "."],
  ],
  ["types", [join(ROOT, "node_modules/.bin/tsc"), "--noEmit"]],
  // In a browser there is no Bun.
  ["ui-types", [join(ROOT, "node_modules/.bin/tsc"), "--noEmit", "-p", "hub/ui/client"]],
  ["layers", script("check-layers")],
  ["sizes", script("check-sizes")],
  ["deadlines", script("raw-deadlines")],
  // Files, exports and packages that nobody uses.
  [
    "unused",
    [
      process.execPath,
      "node_modules/knip/bin/knip-bun.js",
      "--config=scripts/knip.jsonc",
      "--no-progress",
      "--treat-config-hints-as-errors",
    ],
  ],
  ["environment", script("check-environment")],
  ["migrations", script("gen-migrations", "--check")],
  ["carried-files", script("gen-carried-files", "--check")],
  ["env-table", script("gen-env-table", "--check")],
  ["cli-reference", script("gen-cli-reference", "--check")],
  ["job-options", script("gen-job-options", "--check")],
  ["session-actions", script("gen-session-actions", "--check")],
  ["attack-table", script("gen-attack-table", "--check")],
  ["operations", script("gen-operations", "--check")],
  ["devices", script("gen-devices", "--check")],
  ["routes", script("check-routes")],
  ["guide", script("check-guide")],
  [
    "shell",
    [
      "sh",
      "-n",
      "scripts/setup.sh",
      "scripts/quickstart",
      "scripts/flotilla",
      "scripts/test",
      "scripts/build",
      "scripts/release",
      "scripts/lan",
      "scripts/install.sh",
    ],
  ],
];

/** Runs every check at the same time and prints what the failed ones said. */
export async function runChecks(): Promise<ToolResult[]> {
  const results = await Promise.all(
    CHECKS.map(([name, argv]) => runTool(name, argv, ROOT, TIMEOUT_MS)),
  );
  for (const result of results) {
    console.log(
      `${result.ok ? "ok  " : "FAIL"} ${result.name} (${(result.ms / 1000).toFixed(1)} s)`,
    );
    if (!result.ok) console.log(result.output.trimEnd());
  }
  return results;
}

if (import.meta.main) {
  const results = await runChecks();
  process.exit(results.every((r) => r.ok) ? 0 : 1);
}

import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bashCompletions } from "#hub/program/cli/completions/bash.ts";
import { fishCompletions } from "#hub/program/cli/completions/fish.ts";
import { zshCompletions } from "#hub/program/cli/completions/zsh.ts";
import { ROOT } from "../build.ts";
import { runTool } from "../run-tool.ts";

/** What every kind of package holds beside the executable, and the tree that it is packed from. */

/** What is packed, whatever it is packed into. */
export interface Packed {
  /** What the release is called: `0.2.0`. */
  name: string;
  released_at: string;
  executable: string;
  /** Licences of what the executable is made of. */
  notices: string;
}

export interface StagedFile {
  /** Below the package's root. */
  path: string;
  /** A text, or the file that is copied. */
  body: string | Uint8Array | { file: string };
  mode?: number;
}

export const readRoot = (path: string): Promise<string> => readFile(join(ROOT, path), "utf8");

export const completionsOf = {
  bash: bashCompletions,
  zsh: zshCompletions,
  fish: fishCompletions,
} as const;

export async function writeTree(root: string, files: readonly StagedFile[]): Promise<void> {
  for (const { path, body, mode = 0o644 } of files) {
    const to = join(root, path);
    await mkdir(dirname(to), { recursive: true, mode: 0o755 });
    if (typeof body === "object" && "file" in body) await copyFile(body.file, to);
    else await writeFile(to, body);
    await chmod(to, mode);
  }
}

/** Packing takes a minute where it has a processor to itself. */
const PACK_MS = 1_800_000;

/** Runs a packing program; all times that it writes are those of the release. @throws Error with what it said */
export async function pack(argv: string[], released_at: string): Promise<string> {
  const seconds = Math.floor(Date.parse(released_at) / 1_000);
  const { ok, output } = await runTool(argv[0] ?? "", argv, ROOT, PACK_MS, {
    SOURCE_DATE_EPOCH: String(seconds),
    LC_ALL: "C.UTF-8",
  });
  if (!ok) throw new Error(`${argv.join(" ")} failed: ${output}`);
  return output;
}

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PATH_WITH_BUN, runProgram } from "./program.ts";

/** A release as a reader of the guide makes it: with the commands of the page, in a checkout of its own. */

const ROOT = join(import.meta.dir, "../../..");
const DAY = new Date().toISOString().slice(0, 10);
const RELEASE_S = 3_000;

interface Shell {
  cwd: string;
  words?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

async function demand(script: string, { cwd, words = [], env }: Shell): Promise<string> {
  const argv = ["timeout", `${RELEASE_S}`, "sh", "-ec", script, "sh", ...words];
  const { code, stdout, stderr } = await runProgram(argv, {
    cwd,
    env: { PATH: PATH_WITH_BUN, ...env },
  });
  if (code !== 0) throw new Error(`${script}: ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

/** The section that the version needs, in the place of what was not published yet. */
function withSection(changelog: string, version: string): string {
  const section = `## [${version}] - ${DAY}\n\n- A test has published this version.`;
  const heading = /^## \[Unreleased\]$/m;
  return heading.test(changelog)
    ? changelog.replace(heading, section)
    : changelog.replace(/^## \[/m, `${section}\n\n$&`);
}

const withVersion = (package_json: string, version: string): string =>
  package_json.replace(/"version": "[^"]*"/, `"version": "${version}"`);

/**
 * What the page asks for before a version is tagged, in a repository at `dir` that begins with what this checkout holds now:
 * the version in package.json and in the changelog, and a commit.
 */
export async function commitVersion(dir: string, version: string): Promise<void> {
  mkdirSync(dir);
  const listed = await demand("git ls-files -coz --exclude-standard", { cwd: ROOT });
  const names = [...new Set(listed.split("\0"))].filter(
    (name) => name !== "" && existsSync(join(ROOT, name)),
  );
  const list = `${dir}.files`;
  writeFileSync(list, names.join("\0"));
  await demand('tar --null --files-from "$1" -cf "$2.tar" && tar -xf "$2.tar" -C "$2"', {
    cwd: ROOT,
    words: [list, dir],
  });
  for (const used of [list, `${dir}.tar`]) rmSync(used);
  const edit = (file: string, edited: (text: string, version: string) => string) =>
    writeFileSync(join(dir, file), edited(readFileSync(join(dir, file), "utf8"), version));
  edit("package.json", withVersion);
  edit("CHANGELOG.md", withSection);
  await demand(
    `git init -q && git config user.name Somebody && git config user.email somebody@example.org
     git add --all && git commit -q -m "Version $1"`,
    { cwd: dir, words: [version] },
  );
}

/** Pastes blocks of the page into the shell at `cwd`. @returns what they say on standard output */
export const paste = (
  blocks: readonly string[],
  cwd: string,
  env?: Readonly<Record<string, string>>,
): Promise<string> => demand(blocks.join("\n"), { cwd, env });

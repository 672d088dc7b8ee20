import { expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashSources, isSource, SOURCE_ROOT } from "#shared/protocol/version.ts";

/** What shared/protocol/version.ts, standing in `root`, gives for its node. */
async function versionAt(root: string, fallback: string): Promise<string> {
  const file = join(root, "shared/protocol/version.ts");
  const script = `console.log((await import(${JSON.stringify(file)})).nodeVersion(${fallback}))`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  return (await new Response(child.stdout).text()).trim();
}

test("the hash comes first, then VERSION, then the variable, then dev (rules/updates#version-fallbacks)", async () => {
  const root = await mkdtemp(join(tmpdir(), "flotilla-version-"));
  try {
    await mkdir(join(root, "shared"));
    await cp(
      join(SOURCE_ROOT, "shared/protocol/version.ts"),
      join(root, "shared/protocol/version.ts"),
    );
    expect(await versionAt(root, "undefined")).toBe("dev");
    expect(await versionAt(root, '"of-the-variable"')).toBe("of-the-variable");
    await writeFile(join(root, "VERSION"), "of-the-file\n");
    expect(await versionAt(root, '"of-the-variable"')).toBe("of-the-file");
    for (const dir of ["drizzle", "hub", "worker"]) await mkdir(join(root, dir));
    expect(await versionAt(root, '"of-the-variable"')).toBe(hashSources(root));
  } finally {
    await rm(root, { recursive: true });
  }
});

test("sources are .ts, .tsx and .sql files of a directory, hidden ones left out (rules/updates#versions)", () => {
  const paths = ["hub/a.ts", "hub/b/c.tsx", "drizzle/d.sql", "a.ts", "hub/.e.ts", "hub/.f/g.ts"];
  expect(paths.filter(isSource)).toEqual(["hub/a.ts", "hub/b/c.tsx", "drizzle/d.sql"]);
  expect(["hub/a.js", "worker/runner.py", "hub/a.ts.txt"].filter(isSource)).toEqual([]);
});

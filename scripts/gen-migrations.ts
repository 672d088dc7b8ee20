import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import pg from "../drizzle/config.pg.ts";
import sqlite from "../drizzle/config.sqlite.ts";

/**
 * `bun scripts/gen-migrations.ts [name]`: writes a migration per dialect for what changed in drizzle/tables/, and the
 * index that embeds them in the binary. `--check`: exit 1 when either is out of date. Needs no network and no database.
 */

const ROOT = join(import.meta.dir, "..");
const INDEX = join(ROOT, "drizzle/migrations.gen.ts");
const KINDS = { pg, sqlite };
const TIMEOUT_MS = 60_000;

interface Kind {
  dialect: string;
  schema?: string | string[];
  out?: string;
}

const sqlFiles = async (dir: string) =>
  (await readdir(dir)).filter((name) => name.endsWith(".sql")).sort();

/** Lets drizzle-kit write what is missing in `out`; the names of the files it wrote. */
async function generate(kind: Kind, out: string, name: string): Promise<string[]> {
  const before = await sqlFiles(out).catch((): string[] => []);
  const child = Bun.spawn(
    [
      process.execPath,
      join(ROOT, "node_modules/drizzle-kit/bin.cjs"),
      "generate",
      `--dialect=${kind.dialect}`,
      `--schema=${kind.schema}`,
      `--out=${relative(ROOT, out)}`,
      `--name=${name}`,
    ],
    // No stdin: a question (was this column renamed?) ends the run instead of waiting for an answer nobody gives.
    { cwd: ROOT, stdin: "ignore", stdout: "pipe", stderr: "pipe", timeout: TIMEOUT_MS },
  );
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`drizzle-kit ended with ${code}\n${stdout}${stderr}`);
  return (await sqlFiles(out)).filter((file) => !before.includes(file));
}

async function indexText(): Promise<string> {
  const imports: string[] = [];
  const lists: string[] = [];
  for (const dir of Object.keys(KINDS)) {
    lists.push(`export const ${dir}Migrations: Migration[] = [`);
    for (const [i, file] of (await sqlFiles(join(ROOT, "drizzle", dir))).entries()) {
      imports.push(`import ${dir}${i} from "./${dir}/${file}" with { type: "text" };`);
      lists.push(`  { name: "${file.replace(/\.sql$/, "")}", sql: ${dir}${i} },`);
    }
    lists.push("];", "");
  }
  return [
    "// Written by scripts/gen-migrations.ts.",
    ...imports,
    "",
    "export interface Migration {",
    "  name: string;",
    "  sql: string;",
    "}",
    "",
    ...lists,
  ]
    .join("\n")
    .trimEnd()
    .concat("\n");
}

async function check(): Promise<string[]> {
  const problems: string[] = [];
  const scratch = await mkdtemp(join(tmpdir(), "flotilla-migrations-"));
  try {
    await Promise.all(
      Object.entries(KINDS).map(async ([dir, kind]) => {
        const out = join(scratch, dir);
        await cp(join(ROOT, "drizzle", dir), out, { recursive: true });
        for (const file of await generate(kind, out, "missing"))
          problems.push(
            `drizzle/tables.ts differs from drizzle/${dir}:\n${await Bun.file(join(out, file)).text()}`,
          );
      }),
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  const written = await Bun.file(INDEX)
    .text()
    .catch(() => "");
  if (written !== (await indexText())) problems.push("drizzle/migrations.gen.ts is out of date");
  return problems;
}

const [argument] = process.argv.slice(2);
if (argument === "--check") {
  const problems = await check();
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) {
    console.error("Run: bun scripts/gen-migrations.ts <name>");
    process.exit(1);
  }
} else {
  for (const [dir, kind] of Object.entries(KINDS)) {
    const files = await generate(kind, join(ROOT, "drizzle", dir), argument ?? "change");
    for (const file of files) console.log(`wrote drizzle/${dir}/${file}`);
  }
  await Bun.write(INDEX, await indexText());
}

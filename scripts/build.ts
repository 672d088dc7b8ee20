import { join } from "node:path";
import { bundleViewerScript } from "#hub/viewer/script.ts";
import { hashSources } from "#shared/version.ts";

export const ROOT = join(import.meta.dir, "..");
export const BINARY = join(ROOT, "dist/flotilla");

/** The program starts in milliseconds; a version that takes longer than this is not one. */
const PROBE_MS = 10_000;

/** Compiles the one executable, with its version baked in (fleet spec §9.2). */
export async function buildBinary(outfile = BINARY): Promise<string> {
  const version = hashSources(ROOT);
  const result = await Bun.build({
    entrypoints: [join(ROOT, "hub/main.ts")],
    target: "bun",
    compile: { outfile },
    minify: { whitespace: true, syntax: true },
    bytecode: true,
    format: "esm",
    sourcemap: "inline",
    define: {
      FLOTILLA_VERSION: JSON.stringify(version),
      FLOTILLA_VIEWER_SCRIPT: JSON.stringify(await bundleViewerScript()),
      // The database driver has a library per platform; only the one of this build goes into it.
      "process.platform": JSON.stringify(process.platform),
      "process.arch": JSON.stringify(process.arch),
    },
  });
  if (!result.success) throw new AggregateError(result.logs, "build failed");
  return version;
}

/** Builds unless the binary that is there has the version of the sources. */
export async function ensureBinary(): Promise<string> {
  const wanted = hashSources(ROOT);
  if (await Bun.file(BINARY).exists()) {
    const probe = Bun.spawn([BINARY, "--version"], { stdout: "pipe", timeout: PROBE_MS });
    if ((await new Response(probe.stdout).text()).trim() === `flotilla ${wanted}`) return BINARY;
  }
  await buildBinary();
  return BINARY;
}

if (import.meta.main) {
  const version = await buildBinary();
  const size = Bun.file(BINARY).size / 1024 / 1024;
  console.log(`dist/flotilla ${version}, ${size.toFixed(0)} MB`);
}

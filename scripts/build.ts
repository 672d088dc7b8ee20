import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { packSources } from "#hub/fleet/update/pack-sources.ts";
import { ARCHIVE_NAME } from "#hub/fleet/update/worker-source.ts";
import { bundleViewerScript } from "#hub/fleet/viewer/script.ts";
import { GUIDE_NAME, packGuide, readGuide } from "#hub/guide/guide-files.ts";
import { bundleCrawl } from "#hub/plugins/bundled-plugins.ts";
import { APP_NAME } from "#hub/ui/app-files.ts";
import { bundleApp, packApp } from "#hub/ui/bundle.ts";
import type { BuiltRelease } from "#shared/protocol/release.ts";
import { publicKeyOf, signRelease } from "#shared/protocol/update-proof.ts";
import { hashSources } from "#shared/protocol/version.ts";
import { playwrightPackage } from "./playwright-package.ts";

export const ROOT = join(import.meta.dir, "..");
export const BINARY = join(ROOT, "dist/flotilla");

/** The program starts in milliseconds; a version that takes longer than this is not one. */
const PROBE_MS = 10_000;

/** What makes a build a signed one. */
export interface ReleaseBuild {
  /** The release key (ed25519, PKCS#8 in PEM). */
  private_pem: string;
  /** ISO 8601 in UTC. */
  released_at: string;
  /** Where releases are published; null: nowhere that it knows. */
  url: string | null;
}

/** FLOTILLA_RELEASE_KEY names the file of the release key; without it the build is unsigned. */
function releaseFromEnvironment(): ReleaseBuild | null {
  const file = process.env.FLOTILLA_RELEASE_KEY;
  if (!file) return null;
  return {
    private_pem: readFileSync(file, "utf8"),
    released_at: new Date().toISOString(),
    url: null,
  };
}

function signBuild(
  { private_pem, released_at, url }: ReleaseBuild,
  version: string,
  archive: Uint8Array,
): BuiltRelease {
  const sha256 = createHash("sha256").update(archive).digest("hex");
  return {
    key: publicKeyOf(private_pem),
    released_at,
    signature: signRelease({ version, released_at, sha256 }, private_pem),
    url,
  };
}

/** Where an executable is to run. */
export interface BuildTarget {
  platform: "linux";
  arch: "x64" | "arm64";
  compile: Bun.Build.CompileTarget;
  /** File of Bun for that machine; null: this one. */
  runtime: string | null;
}

/** An executable to make; `target` null: for this machine. */
export interface BuildOutput {
  outfile: string;
  target: BuildTarget | null;
}

/** Compiles the one executable for this machine. @returns its version */
export const buildBinary = (
  outfile = BINARY,
  release: ReleaseBuild | null = releaseFromEnvironment(),
): Promise<string> => buildBinaries([{ outfile, target: null }], release);

/**
 * Compiles the one executable for each of these machines, with its version and its sources baked in
 * (rules/updates#versions, rules/updates#worker-source).
 */
export async function buildBinaries(
  outputs: readonly BuildOutput[],
  release: ReleaseBuild | null,
): Promise<string> {
  const { version, archive } = await packSources(ROOT);
  const signed = release && signBuild(release, version, archive);
  const dir = await mkdtemp(join(tmpdir(), "flotilla-build-"));
  try {
    const sources = join(dir, ARCHIVE_NAME);
    await Bun.write(sources, archive);
    const ui = join(dir, APP_NAME);
    await Bun.write(ui, packApp(await bundleApp()));
    const guide = join(dir, GUIDE_NAME);
    await Bun.write(guide, packGuide(readGuide()));
    for (const output of outputs) await compile(output, version, [sources, ui, guide], signed);
  } finally {
    await rm(dir, { recursive: true });
  }
  return version;
}

function compileOptions(outfile: string, target: BuildTarget | null): Bun.CompileBuildOptions {
  const options: Bun.CompileBuildOptions = {
    outfile,
    // A directory that somebody else may write to must not decide what runs: by default Bun takes variables from its
    // .env and runs what its bunfig.toml preloads.
    autoloadDotenv: false,
    autoloadBunfig: false,
    autoloadTsconfig: false,
    autoloadPackageJson: false,
  };
  if (target === null) return options;
  options.target = target.compile;
  if (target.runtime !== null) options.executablePath = target.runtime;
  return options;
}

/** `embedded`: files that are carried as they are. */
async function compile(
  { outfile, target }: BuildOutput,
  version: string,
  embedded: string[],
  release: BuiltRelease | null,
): Promise<void> {
  const result = await Bun.build({
    entrypoints: [join(ROOT, "hub/main.ts"), ...embedded],
    loader: { ".gz": "file" },
    target: "bun",
    plugins: [playwrightPackage(ROOT)],
    compile: compileOptions(outfile, target),
    minify: { whitespace: true, syntax: true },
    bytecode: true,
    format: "esm",
    sourcemap: "inline",
    define: {
      FLOTILLA_VERSION: JSON.stringify(version),
      FLOTILLA_RELEASE: JSON.stringify(release),
      FLOTILLA_VIEWER_SCRIPT: JSON.stringify(await bundleViewerScript()),
      FLOTILLA_CRAWL_MODULE: JSON.stringify(await bundleCrawl()),
      // The database driver has a library per platform; only the one of this build goes into it.
      "process.platform": JSON.stringify(target?.platform ?? process.platform),
      "process.arch": JSON.stringify(target?.arch ?? process.arch),
    },
  });
  if (!result.success) throw new AggregateError(result.logs, "build failed");
  // What is embedded is an entry point so that it comes along; nobody debugs it.
  for (const path of embedded) {
    const map = basename(path).replace(/\.gz$/, ".js.map");
    await rm(join(dirname(outfile), map), { force: true });
  }
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
  const signed = process.env.FLOTILLA_RELEASE_KEY ? "signed build" : "unsigned build";
  console.log(`dist/flotilla ${version}, ${size.toFixed(0)} MB, ${signed}`);
}

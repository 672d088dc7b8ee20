import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { packagedUnitText, ROLES, unitFile } from "#hub/program/commands/install/roles.ts";
import { debName } from "#shared/protocol/release-files.ts";
import { debianChangelog } from "./changelog.ts";
import { completionsOf, type Packed, pack, readRoot, type StagedFile, writeTree } from "./stage.ts";

/** Packages of Debian: the executable, its units, what completes and explains it; the users are made when it is installed. */

const DEBIAN = join(import.meta.dir, "debian");

/** The executable needs these two, and the database driver the third. */
const DEPENDS = ["libc6 (>= 2.34)", "libgcc-s1", "libstdc++6 (>= 11)", "adduser"];
/** What a worker needs for browsers and a hub for scripts: installed unless somebody says no. */
const RECOMMENDS = [
  "chromium | google-chrome-stable",
  "chromium-sandbox | google-chrome-stable",
  "tigervnc-standalone-server",
  "libnss3-tools",
  "bubblewrap",
  "fontconfig",
  "fonts-liberation",
  "ca-certificates",
];
const SUGGESTS = [
  "chromium-driver",
  "ffmpeg",
  "fonts-freefont-ttf",
  "fonts-noto-color-emoji",
  "fonts-wqy-microhei",
  "openssl",
  "postgresql",
  "redis-server",
];

/** What lintian is told about the executable, and why. */
const OVERRIDES = `# The program follows the ELF sections of its runtime: stripped, it would be the runtime alone.
flotilla: unstripped-binary-or-object [usr/bin/flotilla]
# The runtime (Bun) is one executable with its libraries, built by its makers.
flotilla: embedded-library *
flotilla: hardening-no-bindnow [usr/bin/flotilla]
flotilla: hardening-no-pie [usr/bin/flotilla]
flotilla: hardening-no-relro [usr/bin/flotilla]
# Minified code, and words of libraries.
flotilla: spelling-error-in-binary * [usr/bin/flotilla]
# The services speak systemd's protocol: readiness, watchdog, status.
flotilla: package-supports-alternative-init-but-no-init.d-script *
`;

const DESCRIPTION = `browser fleet and workload pipeline in one executable
 Flotilla gives a team on a LAN its own browser fleet: submit a URL, a real
 Chromium opens it, and everything that the browser downloads is captured
 passively, byte for byte, and stored. People watch any browser live and take
 over; scripts hold one over HTTP, Playwright or Puppeteer.
 .
 Next to it is a workload pipeline: named task queues and pull workers with
 leases that run Python, TypeScript, any program or browser jobs.
 .
 The same executable is the hub, the worker and the command-line client.
 Nothing is started by the installation of this package.`;

export interface DebOptions {
  arch: "amd64" | "arm64";
  /** `Name <address>`, as Debian wants it. */
  maintainer: string;
}

/** A release's name as Debian orders it: `0.2.0-rc.1` comes before `0.2.0`. */
export const debVersion = (name: string): string => name.replaceAll("-", "~");

const zipped = (text: string): Uint8Array => gzipSync(text, { level: 9 });

async function controlFiles(packed: Packed, options: DebOptions, kilobytes: number) {
  const control = `Package: flotilla
Version: ${debVersion(packed.name)}
Architecture: ${options.arch}
Maintainer: ${options.maintainer}
Installed-Size: ${kilobytes}
Depends: ${DEPENDS.join(", ")}
Recommends: ${RECOMMENDS.join(", ")}
Suggests: ${SUGGESTS.join(", ")}
Section: net
Priority: optional
Description: ${DESCRIPTION}
`;
  const scripts = ["postinst", "prerm", "postrm"].map(async (name): Promise<StagedFile> => {
    return { path: `DEBIAN/${name}`, body: await readFile(join(DEBIAN, name)), mode: 0o755 };
  });
  return [{ path: "DEBIAN/control", body: control }, ...(await Promise.all(scripts))];
}

/** MIT's text as the format of Debian's copyright files indents it. */
async function copyrightText(): Promise<string> {
  const [, terms = ""] = /(Permission is hereby[\s\S]*)/.exec(await readRoot("LICENSE")) ?? [];
  const lines = terms.trim().split("\n");
  const indented = lines.map((line) => (line === "" ? " ." : ` ${line}`)).join("\n");
  return `${await readFile(join(DEBIAN, "copyright"), "utf8")}${indented}\n`;
}

async function filesOf(packed: Packed, { maintainer }: DebOptions): Promise<StagedFile[]> {
  const doc = "usr/share/doc/flotilla";
  const version = debVersion(packed.name);
  const changes = debianChangelog(await readRoot("CHANGELOG.md"), {
    name: packed.name,
    version,
    released_at: packed.released_at,
    maintainer,
  });
  const units = ROLES.map((role) => ({
    path: join("usr/lib/systemd/system", unitFile({ role, instance: null })),
    body: packagedUnitText(role),
  }));
  return [
    { path: "usr/bin/flotilla", body: { file: packed.executable }, mode: 0o755 },
    ...units,
    { path: "usr/share/bash-completion/completions/flotilla", body: completionsOf.bash() },
    { path: "usr/share/zsh/vendor-completions/_flotilla", body: completionsOf.zsh() },
    { path: "usr/share/fish/vendor_completions.d/flotilla.fish", body: completionsOf.fish() },
    {
      path: "usr/share/man/man1/flotilla.1.gz",
      body: zipped(await readRoot("hub/program/flotilla.1")),
    },
    { path: `${doc}/copyright`, body: await copyrightText() },
    { path: `${doc}/changelog.gz`, body: zipped(changes) },
    { path: `${doc}/README.Debian`, body: await readFile(join(DEBIAN, "README.Debian")) },
    { path: `${doc}/THIRD-PARTY-NOTICES.gz`, body: zipped(packed.notices) },
    { path: "usr/share/lintian/overrides/flotilla", body: OVERRIDES },
  ];
}

const sizeOf = ({ body }: StagedFile): number => {
  if (typeof body === "string") return Buffer.byteLength(body);
  return "file" in body ? Bun.file(body.file).size : body.byteLength;
};

async function sumsOf(files: readonly StagedFile[]): Promise<string> {
  const lines = files.map(async ({ path, body }) => {
    const hash = new Bun.CryptoHasher("md5");
    const bytes =
      typeof body === "object" && "file" in body ? await Bun.file(body.file).bytes() : body;
    return `${hash.update(bytes).digest("hex")}  ${path}\n`;
  });
  return (await Promise.all(lines)).join("");
}

/**
 * Packs the package into `to`: the same executable gives the same bytes.
 * @param scratch an empty directory for the tree
 * @returns the name of the file
 */
export async function packDeb(
  packed: Packed,
  options: DebOptions,
  to: string,
  scratch: string,
): Promise<string> {
  const files = await filesOf(packed, options);
  const kilobytes = Math.ceil(files.reduce((sum, file) => sum + sizeOf(file), 0) / 1_024);
  await writeTree(scratch, [
    ...(await controlFiles(packed, options, kilobytes)),
    { path: "DEBIAN/md5sums", body: await sumsOf(files) },
    ...files,
  ]);
  const file = debName(packed.name, options.arch);
  const argv = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", scratch];
  await pack([...argv, join(to, file)], packed.released_at);
  return file;
}

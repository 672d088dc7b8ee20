import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../rigs/program.ts";

/** Podman with images, containers, volumes and a network of its own in one directory: nothing of it meets the machine's own. */

export interface Podman {
  /** With these variables any `podman` is this one. */
  env: Readonly<Record<string, string>>;
  /** The machine's address for its containers. */
  gateway: string;
  /** Its output. @throws Error when the command fails or takes longer than ten minutes */
  run(...words: string[]): Promise<string>;
  /** Ends containers, and deletes whatever there is of it. */
  remove(): Promise<void>;
}

/** Files that the commands of the guide need, and Debian's packages that have them. */
const NEEDED: Readonly<Record<string, string>> = {
  podman: "/usr/bin/podman",
  runc: "/usr/sbin/runc",
  netavark: "/usr/lib/podman/netavark",
  iptables: "/usr/sbin/iptables",
};
/** Where the directory itself is on an overlay, as in a container, the kernel makes no other one above it. */
const FUSE_OVERLAY = "/usr/bin/fuse-overlayfs";
const OVERLAYFS = 0x794c7630;

const NETWORK = "flotilla-test";
const SUBNET = "10.213.77";
const GATEWAY = `${SUBNET}.1`;
const RUN_S = 600;

/** @throws Error with the command that installs what is missing */
function demandPackages(needed: Readonly<Record<string, string>>): void {
  const missing = Object.keys(needed).filter((name) => !existsSync(needed[name] ?? ""));
  if (missing.length > 0)
    throw new Error(
      `containers need Debian's packages: apt-get install --no-install-recommends ${missing.join(" ")}`,
    );
}

/** What podman makes of `network create`, with a bridge whose name tells whose it is. */
const network = (): string =>
  JSON.stringify({
    name: NETWORK,
    id: new Bun.CryptoHasher("sha256").update(NETWORK).digest("hex"),
    driver: "bridge",
    network_interface: NETWORK,
    created: new Date().toISOString(),
    subnets: [{ subnet: `${SUBNET}.0/24`, gateway: GATEWAY }],
    ipv6_enabled: false,
    internal: false,
    dns_enabled: false,
    ipam_options: { driver: "host-local" },
  });

/**
 * Limits: podman asks for more than a root without CAP_SYS_RESOURCE may have. The runtime: Debian's crun refuses machines
 * with both kinds of cgroups.
 */
const engine = (dir: string): string => `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[network]
network_backend = "netavark"
network_config_dir = "${dir}/networks"
default_network = "${NETWORK}"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "${dir}/tmp"
`;

const storage = (dir: string, on_overlay: boolean): string => `[storage]
driver = "overlay"
graphroot = "${dir}/store"
runroot = "${dir}/run"
${on_overlay ? `[storage.options.overlay]\nmount_program = "${FUSE_OVERLAY}"\n` : ""}`;

/**
 * @param base a directory with the files of an image
 * @param name what images that are made of it call it
 * @throws Error when a package is missing
 */
export async function startPodman(base: string, name: string): Promise<Podman> {
  const on_overlay = statfsSync(tmpdir()).type === OVERLAYFS;
  demandPackages(on_overlay ? { ...NEEDED, "fuse-overlayfs": FUSE_OVERLAY } : NEEDED);
  const dir = mkdtempSync(join(tmpdir(), "flotilla-podman-"));
  const env = {
    CONTAINERS_CONF: join(dir, "containers.conf"),
    CONTAINERS_STORAGE_CONF: join(dir, "storage.conf"),
    CONTAINERS_REGISTRIES_CONF: join(dir, "registries.conf"),
    TMPDIR: join(dir, "tmp"),
  };
  const command = async (argv: string[]) => {
    const { code, stdout, stderr } = await runProgram(["timeout", `${RUN_S}`, ...argv], { env });
    if (code !== 0) throw new Error(`${argv.join(" ")}: ${code}\n${stdout}\n${stderr}`);
    return stdout.trim();
  };
  const remove = async () => {
    await command(["podman", "rm", "--all", "--force", "--time", "5"]);
    // It takes its mounts away too, which nothing below them could be deleted with.
    await command(["podman", "system", "reset", "--force"]);
    rmSync(dir, { recursive: true, force: true });
  };
  for (const each of ["networks", "run", "store", "tmp"]) mkdirSync(join(dir, each));
  writeFileSync(env.CONTAINERS_CONF, engine(dir));
  writeFileSync(env.CONTAINERS_STORAGE_CONF, storage(dir, on_overlay));
  // No registry is asked for anything: an image is here or it is missing.
  writeFileSync(env.CONTAINERS_REGISTRIES_CONF, "");
  writeFileSync(join(dir, "networks", `${NETWORK}.json`), network());
  try {
    const archive = join(dir, "base.tar");
    await command(["tar", "--directory", base, "--create", "--file", archive, "."]);
    await command(["podman", "import", archive, name]);
    rmSync(archive);
  } catch (err) {
    // Why there is no image says more than what was left.
    await remove().catch(() => {});
    throw err;
  }
  return { env, gateway: GATEWAY, run: (...words) => command(["podman", ...words]), remove };
}

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listPids, readProc, readStat } from "#shared/kit/proc.ts";
import { ABOUT_FILE, readAbout } from "#shared/protocol/release-files.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { runProgram } from "#test/support/rigs/program.ts";
import { commitVersion, paste } from "#test/support/rigs/published-release.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { type DebianRoot, makeDebianRoot } from "#test/support/servers/debian-root.ts";
import { type Podman, startPodman } from "#test/support/servers/podman.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { packDeb } from "../../../scripts/packaging/deb.ts";
import { demandValid } from "../../../scripts/packaging/sbom.ts";

/** A whole release for every machine, and Debian's package where it goes: on a Debian that has nothing else (rules/releases). */

const MINUTES = 60_000;
/** As the page calls it. */
const NAME = "0.2.0";
const LATER = "9.2.0";
const maintainer = "Somebody <somebody@example.org>";
const released_at = "2026-11-26T08:00:00.000Z";
/** Where the page says ADDRESS. */
const ADDRESS = "https://releases.example/latest/download";
const BASE = "debian:bookworm-slim";
let root: string;
let dir: string;
let version: string;
let debian: DebianRoot;
let podman: Podman;

const shows = (field: string): string => `dpkg-query --show --showformat '\${${field}}' flotilla`;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "flotilla-whole-release-"));
  debian = await makeDebianRoot();
  // Before anything is installed there.
  podman = await startPodman(debian.dir, BASE);
  const checkout = join(root, "checkout");
  dir = join(checkout, "dist/release");
  await commitVersion(checkout, NAME);
  const blocks = seededBlocks("how-to/releases.md#publish-a-release", 2);
  await paste(
    blocks.map((block) => block.replaceAll("ADDRESS", ADDRESS)),
    checkout,
  );
  const about = readAbout(readFileSync(join(dir, ABOUT_FILE), "utf8"));
  expect(about?.name).toBe(NAME);
  version = about?.version ?? "";
  cpSync(dir, join(debian.dir, "srv/release"), { recursive: true });
}, 60 * MINUTES);
afterAll(async () => {
  await podman?.remove();
  debian?.remove();
  rmSync(root, { recursive: true, force: true });
}, 5 * MINUTES);

test("what it is made of is valid CycloneDX, with the version, the licence and the hash of every package", async () => {
  const text = readFileSync(join(dir, `flotilla-${NAME}.cdx.json`), "utf8");
  await demandValid(text);
  const { components } = JSON.parse(text) as { components: Record<string, unknown>[] };
  expect(components.length).toBeGreaterThan(100);
  for (const { name, ...component } of components)
    expect({ name, licences: (component.licenses as unknown[]).length > 0 }).toEqual({
      name,
      licences: true,
    });
});

test(
  "install.sh installs the archive of this machine, under dash, and the program starts",
  async () => {
    const prefix = join(root, "prefix");
    const { code, stderr } = await runProgram([
      "dash",
      join(dir, "install.sh"),
      "--from",
      dir,
      "--prefix",
      prefix,
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const said = await runProgram([join(prefix, "bin/flotilla"), "--version"]);
    expect(said.stdout).toBe(`flotilla ${version}\n`);
  },
  10 * MINUTES,
);

const QEMU = Bun.which("qemu-aarch64-static");
const ARM_LIBC = "/usr/aarch64-linux-gnu";

test.skipIf(QEMU === null || !existsSync(ARM_LIBC) || process.arch !== "x64")(
  "the executable for arm64 starts under qemu",
  async () => {
    const at = join(root, "arm64");
    const archive = join(dir, `flotilla-${NAME}-linux-arm64.tar.gz`);
    const unpack = await runProgram(["sh", "-ec", `mkdir ${at} && tar -xzf ${archive} -C ${at}`]);
    expect(unpack.code).toBe(0);
    const program = join(at, `flotilla-${NAME}-linux-arm64/flotilla`);
    const said = await runProgram([QEMU ?? "", "-L", ARM_LIBC, program, "--version"]);
    expect(said.stdout).toBe(`flotilla ${version}\n`);
  },
  10 * MINUTES,
);

test(
  "lintian has nothing to say about the packages of both processors",
  async () => {
    const debs = ["amd64", "arm64"].map((arch) => join(dir, `flotilla_${NAME}_${arch}.deb`));
    const argv = [
      "lintian",
      "--allow-root",
      "--display-info",
      "--pedantic",
      "--fail-on",
      "error,warning,info,pedantic",
    ];
    const { code, stdout } = await runProgram([...argv, ...debs]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  },
  30 * MINUTES,
);

test(
  "apt installs the package from install.sh --deb, with both users and nothing that runs or listens",
  async () => {
    // The mirror's lists are what apt resolves dependencies with; openssl is what verifies.
    await debian.demand(
      "apt-get update -qq && apt-get install -qq --no-install-recommends openssl >/dev/null",
    );
    await debian.demand('echo "APT::Install-Recommends false;" >/etc/apt/apt.conf.d/99minimal');
    const said = await debian.demand("sh /srv/release/install.sh --from /srv/release --deb");
    expect(said).toContain(`Flotilla ${NAME} is installed`);
    expect(await debian.demand("flotilla --version")).toBe(`flotilla ${version}`);
    expect(await debian.demand(shows("Status"))).toBe("install ok installed");
    const users = await debian.demand("getent passwd flotilla flotilla-worker");
    expect(users.match(/:\/usr\/sbin\/nologin$/gm)).toHaveLength(2);
    expect(
      await debian.demand("ls /etc/systemd/system/multi-user.target.wants | grep -c flotilla || :"),
    ).toBe("0");
    expect(
      await debian.demand(
        "md5sum --quiet --check /var/lib/dpkg/info/flotilla.md5sums && echo whole",
      ),
    ).toBe("whole");
  },
  20 * MINUTES,
);

test(
  "install makes a service of it, a later package keeps its variables and data, and the archive's script stays away",
  async () => {
    const said = await debian.demand("flotilla install hub --port 8123");
    expect(said).toContain("/etc/flotilla/hub.env");
    expect(said).toContain("/usr/bin/flotilla is up to date");
    await debian.demand(
      "install -d -o flotilla /var/lib/flotilla && echo kept >/var/lib/flotilla/data",
    );
    const refused = await debian.run("sh /srv/release/install.sh --from /srv/release");
    expect(refused.said).toContain("Flotilla is installed as a package here: use --deb");
    const upgrade = await debian.run("flotilla upgrade --from /srv/release");
    expect(upgrade.said).toContain("belongs to the Debian package");
    const rollback = await debian.run("flotilla rollback hub");
    expect(rollback.said).toContain("--allow-downgrades");
    const executable = join(debian.dir, "usr/bin/flotilla");
    const packed = { name: LATER, released_at, executable, notices: "None.\n" };
    const tree = mkdtempSync(join(root, "later-"));
    const file = await packDeb(packed, { arch: "amd64", maintainer }, root, tree);
    renameSync(join(root, file), join(debian.dir, "srv", file));
    await debian.demand(`apt-get install -y ./srv/${file}`);
    expect(await debian.demand(shows("Version"))).toBe(LATER);
    expect(
      await debian.demand("grep ^SVC_PORT /etc/flotilla/hub.env; cat /var/lib/flotilla/data"),
    ).toBe("SVC_PORT=8123\nkept");
    await debian.demand(
      `apt-get install -y --allow-downgrades ./srv/release/flotilla_${NAME}_amd64.deb`,
    );
    expect(await debian.demand(shows("Version"))).toBe(NAME);
  },
  20 * MINUTES,
);

test(
  "removal leaves variables and data, and purge leaves nothing but the users",
  async () => {
    const left =
      "find / -xdev \\( -path /srv -o -path /proc -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/log -o -path /var/cache \\) -prune -o -name '*flotilla*' -print | sort";
    await debian.demand("apt-get remove -y flotilla");
    expect(await debian.demand(left)).toBe("/etc/flotilla\n/var/lib/flotilla");
    expect(await debian.demand("cat /var/lib/flotilla/data")).toBe("kept");
    await debian.demand("apt-get purge -y flotilla");
    expect(await debian.demand(left)).toBe("");
    expect(await debian.demand("dpkg-query -W flotilla 2>/dev/null || echo gone")).toBe("gone");
    expect(await debian.demand("getent passwd flotilla flotilla-worker | wc -l")).toBe("2");
  },
  20 * MINUTES,
);

const SECRET = "the same text for the hub and the worker";

/** What the hub in its container answers; null: nothing yet. @throws Error when it refuses the call */
async function ask<T>(url: string): Promise<T | null> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) }).catch(() => null);
  if (answer === null || answer.status === 503) return null;
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

const isBelow = (pid: number, ancestor: number): boolean =>
  pid === ancestor || (pid > 1 && isBelow(readStat(pid)?.ppid ?? 0, ancestor));

/** Null: the process has ended. */
function userNamespace(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/user`);
  } catch {
    return null;
  }
}

/** Whether the container shows a page, and does so in a sandbox: its renderers have namespaces of their own for users. */
async function isSandboxed(container: string): Promise<boolean> {
  const main = Number(await podman.run("inspect", "--format", "{{.State.Pid}}", container));
  const renderers = listPids().filter(
    (pid) => readProc(pid, "cmdline")?.includes("--type=renderer") && isBelow(pid, main),
  );
  const spaces = renderers.map(userNamespace).filter((space) => space !== null);
  return spaces.length > 0 && !spaces.includes(userNamespace(main) ?? "");
}

test(
  "a hub and a worker in containers of the image run a job in a sandboxed browser, and the volume outlives the hub's container",
  async () => {
    const port = freePort();
    const [block = ""] = seededBlocks("how-to/releases.md#in-a-container", 1);
    const pasted = block
      .replaceAll("8000:8000", `${port}:8000`)
      .replaceAll("HUB:8000", `${podman.gateway}:${port}`)
      .replaceAll("WORKER_SECRET=…", `WORKER_SECRET="${SECRET}"`);
    const hub = `http://127.0.0.1:${port}`;
    await using site = Bun.serve({
      hostname: "0.0.0.0",
      port: 0,
      fetch: () =>
        new Response("<title>Seen from a container</title>", {
          headers: { "content-type": "text/html" },
        }),
    });
    await paste([pasted], dir, podman.env);
    await until("the hub", 2 * MINUTES, () => ask(`${hub}/ready`));
    const joined = async () => {
      const listed = await ask<{ workers: { alive: boolean; version: string }[] }>(
        `${hub}/workers`,
      );
      return listed?.workers.some((worker) => worker.alive && worker.version === version);
    };
    await until("the worker", 5 * MINUTES, joined);
    const submitted = await fetch(`${hub}/jobs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ url: `http://${podman.gateway}:${site.port}/` }),
      signal: AbortSignal.timeout(MINUTES),
    });
    const { job_id } = (await submitted.json()) as { job_id: string };
    const read = () => ask<{ status: string; title: string | null }>(`${hub}/jobs/${job_id}`);
    const done = await until("the job's end", 5 * MINUTES, async () => {
      const record = await read();
      return record !== null && !["queued", "running"].includes(record.status) && record;
    });
    expect(done).toMatchObject({ status: "completed", title: "Seen from a container" });
    expect(await isSandboxed("flotilla-worker")).toBe(true);

    const [, again = ""] = pasted.split("\n");
    await podman.run("rm", "--force", "flotilla-hub");
    await paste([again], dir, podman.env);
    await until("the hub with its volume", 2 * MINUTES, () => ask(`${hub}/ready`));
    expect(await read()).toMatchObject({ status: "completed", title: "Seen from a container" });
    await until("the worker's return", 5 * MINUTES, joined);
  },
  60 * MINUTES,
);

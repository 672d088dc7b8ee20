import { spawn, spawnSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { until } from "../rigs/fleet-process.ts";

/** A machine of its own on a test's network: what runs in it has no other way out. */
export interface LanHost {
  address: string;
  /** Begins the command line of whatever is to run there. */
  enter: readonly string[];
  /** Takes its cable out: packets are swallowed in both directions, and no connection is reset. */
  cut(): void;
  mend(): void;
  /** For this host alone. */
  sysctl(name: string, value: number): void;
}

/** A switch with hosts on it, each a network namespace joined by a pair of virtual interfaces; this process is on it too. */
export interface TestLan {
  /** This process's. */
  address: string;
  hosts: LanHost[];
  close(): void;
}

const HOLD_MS = 5_000;
const TRIES = 20;

function run(...[command = "", ...args]: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8", timeout: 10_000 });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")}: ${stderr?.trim() || String(error)}`);
}

const netOf = (pid: number | "self") => readlinkSync(`/proc/${pid}/ns/net`);

/** A namespace without a name lives as long as the process in it, and that dies with this one. */
async function holdNamespace(): Promise<{ pid: number; enter: string[]; end(): void }> {
  const argv = ["--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"];
  const child = spawn("setpriv", argv, { stdio: "ignore" });
  const failed = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`unshare --net ended with ${code}`)));
  });
  failed.catch(() => {});
  const pid = child.pid ?? 0;
  const held = until("a network namespace", HOLD_MS, () => netOf(pid) !== netOf("self"));
  await Promise.race([held, failed]);
  held.catch(() => {});
  const enter = ["nsenter", `--net=/proc/${pid}/ns/net`];
  return { pid, enter, end: () => child.kill("SIGKILL") };
}

/**
 * A network 10.213.x.0/24 with `count` hosts. Nothing of it has a name or outlives this process. The interface that this
 * process's own namespace gets is called like a container's, so that nobody takes it for the machine's LAN.
 * @throws where this user may not make network namespaces, or `ip` is not installed.
 */
export async function openLan(count: number): Promise<TestLan> {
  const held: { end(): void }[] = [];
  const close = () => {
    for (const each of held) each.end();
  };
  try {
    const hub = await holdNamespace();
    held.push(hub);
    const inSwitch = (...args: string[]) => run(...hub.enter, "ip", ...args);
    inSwitch("link", "add", "br0", "type", "bridge");
    inSwitch("link", "set", "br0", "up");
    const third = plugIn(hub.pid);
    inSwitch("link", "set", "p0", "master", "br0", "up");
    const hosts: LanHost[] = [];
    for (let n = 1; n <= count; n += 1) {
      const { pid, enter, end } = await holdNamespace();
      held.push({ end });
      const address = `10.213.${third}.${10 + n}`;
      const port = `p${n}`;
      inSwitch(
        ...["link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", String(pid)],
      );
      inSwitch("link", "set", port, "master", "br0", "up");
      const inside = (...args: string[]) => run(...enter, "ip", ...args);
      inside("addr", "add", `${address}/24`, "dev", "eth0");
      inside("link", "set", "lo", "up");
      inside("link", "set", "eth0", "up");
      hosts.push({
        address,
        enter,
        cut: () => inSwitch("link", "set", port, "down"),
        mend: () => inSwitch("link", "set", port, "up"),
        sysctl: (name, value) => run(...enter, "sysctl", "-qw", `${name}=${value}`),
      });
    }
    return { address: `10.213.${third}.1`, hosts, close };
  } catch (err) {
    close();
    throw err;
  }
}

/** Joins this process's namespace to the switch, in a network that nobody here uses. @returns its third number. */
function plugIn(switch_pid: number): number {
  for (let tries = 1; ; tries += 1) {
    const third = Math.floor(Math.random() * 250) + 1;
    const name = `vethflot${third}`;
    try {
      run(
        ...["ip", "link", "add", name, "type", "veth"],
        ...["peer", "name", "p0", "netns", String(switch_pid)],
      );
    } catch (err) {
      if (tries === TRIES || !/exists/i.test(String(err))) throw err;
      continue;
    }
    run("ip", "addr", "add", `10.213.${third}.1/24`, "dev", name);
    run("ip", "link", "set", name, "up");
    return third;
  }
}

/** A check or a group of tests: what it is called, what it counted, what it printed. */
export interface ToolResult {
  name: string;
  ok: boolean;
  ms: number;
  output: string;
}

/** Runs a program to its end with everything it prints kept; killed, with its group, after `timeout_ms`. */
export async function runTool(
  name: string,
  argv: string[],
  cwd: string,
  timeout_ms: number,
  env: Record<string, string> = {},
): Promise<ToolResult> {
  const started = performance.now();
  const child = Bun.spawn(argv, {
    cwd,
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  const timer = setTimeout(() => killGroup(child.pid), timeout_ms);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  clearTimeout(timer);
  return { name, ok: code === 0, ms: performance.now() - started, output: stdout + stderr };
}

/** SIGKILL to the process group a detached child leads. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // the group is gone already
  }
}

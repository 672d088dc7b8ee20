/** What Prometheus' own tool says of `args`, with `input` on its standard input. */
export async function promtool(args: readonly string[], input = "", cwd?: string) {
  if (!Bun.which("promtool"))
    throw new Error(
      "promtool is not installed, and this suite needs it: apt-get install prometheus",
    );
  const proc = Bun.spawn(["promtool", ...args], {
    cwd,
    stdin: new TextEncoder().encode(input),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(proc.stdout).text(),
    new Response(proc.stderr).text(),
    proc.exited,
  ]);
  return { code, said: stdout + stderr };
}

/** Throws what `promtool check metrics` finds wrong with a scrape. */
export async function checkMetrics(text: string): Promise<void> {
  const { code, said } = await promtool(["check", "metrics"], text);
  if (code !== 0 || said !== "") throw new Error(`promtool check metrics (${code}): ${said}`);
}

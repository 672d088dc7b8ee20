import { join } from "node:path";

/** A package of its own (see its README): linters of the API's description, and makers of clients from it. */
export const API_TOOLS = join(import.meta.dir, "../../api-tools");

/** A machine that other tests keep busy takes a minute for what takes seconds. */
const RUN_MS = 240_000;

/** Its packages, as its lock file has them. `scripts/test` has installed them: then there is nothing to do, and no network used. */
export async function installApiTools(): Promise<void> {
  await run([process.execPath, "install", "--frozen-lockfile"], API_TOOLS);
}

/** What a program printed. @throws Error with what it said when it failed */
export async function run(
  argv: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  const child = Bun.spawn(argv, {
    cwd,
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "pipe",
    timeout: RUN_MS,
  });
  const [printed, said, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}: ${printed}${said}`);
  return printed;
}

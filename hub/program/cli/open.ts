import { FlotillaError } from "#shared/client/errors.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { type ClientCall, jsonText } from "./client-call.ts";
import { EXIT, UsageError } from "./exit.ts";
import { tellRefusal } from "./hub-client.ts";
import { kindOfId } from "./id-kind.ts";
import { findSession } from "./sessions.ts";

/** `flotilla open` (rules/clients#open-in-a-browser). */

const seg = encodeURIComponent;
const OPEN_MS = 10_000;

const isAbsent = (err: unknown): boolean => err instanceof FlotillaError && err.status === 404;

/** A name is a workload's, a worker's or a host's, whichever there is first; null where it is nobody's. */
async function pathOfName({ client: { call } }: ClientCall, name: string): Promise<string | null> {
  const finders: [string, () => Promise<unknown>][] = [
    [
      `/ui/pipelines/workloads/${seg(name)}`,
      () => call("GET /api/v1/workloads/{slug}", { params: { slug: name } }),
    ],
    [`/ui/system/workers?kind=browser`, () => call("GET /workers/{id}", { params: { id: name } })],
    [`/ui/library/hosts/${seg(name)}`, () => call("GET /hosts/{host}", { params: { host: name } })],
  ];
  for (const [path, find] of finders)
    try {
      await find();
      return path;
    } catch (err) {
      if (!isAbsent(err)) throw err;
    }
  return null;
}

/** @throws UsageError where it has no screen now */
async function pathOfViewer({ client }: ClientCall, id: string | undefined): Promise<string> {
  const kind = id === undefined ? null : kindOfId(id);
  if (id === undefined || (kind !== "job" && kind !== "session"))
    throw new UsageError("--viewer is for a session, or a job that runs");
  if (kind === "session")
    return (await client.call("GET /sessions/{sid}", { params: { sid: id } })).novnc_url;
  const { novnc_url, status } = await client.call("GET /jobs/{id}", { params: { id } });
  if (novnc_url === null || status !== "running")
    throw new UsageError(`job ${id} has no browser now`, `flotilla open ${id}`);
  return novnc_url;
}

/** The page of a job, a session or a run, which must be there; null for what is no id. */
async function pathOfId(call: ClientCall, id: string): Promise<string | null> {
  const { client } = call;
  switch (kindOfId(id)) {
    case "job":
      await client.call("GET /jobs/{id}", { params: { id } });
      return `/ui/captures/${seg(id)}`;
    case "session":
      // Older ones than the list has are known by their recordings.
      await client
        .call("GET /sessions/{sid}/recording", { params: { sid: id } })
        .catch((err) => (isAbsent(err) ? findSession(call, id) : Promise.reject(err)));
      return `/ui/browsers/${seg(id)}`;
    case "run":
      await client.call("GET /api/v1/runs/{run_id}", { params: { run_id: Number(id) } });
      return `/ui/pipelines/runs?run=${id}`;
    case null:
      return null;
  }
}

/** Names may look like ids, so what no id leads to is looked for among them. */
async function pathOf(call: ClientCall, id: string | undefined): Promise<string> {
  if (call.flags.viewer !== undefined) return pathOfViewer(call, id);
  if (id === undefined) return "/";
  let absent: unknown = new UsageError(`nothing is called "${id}"`, `flotilla find ${id}`);
  try {
    const path = await pathOfId(call, id);
    if (path !== null) return path;
  } catch (err) {
    if (!isAbsent(err)) throw err;
    absent = err;
  }
  const path = await pathOfName(call, id);
  if (path === null) throw absent;
  return path;
}

/** The first of the browsers in `$BROWSER`, which colons part, with the words that it is started with. */
const browserOf = (env: EnvSource): string[] =>
  (env.BROWSER ?? "").split(":", 1).join("").split(/\s+/).filter(Boolean);

/** What opens an address here; null where there is no desktop. */
export function openerOf(platform: NodeJS.Platform, env: EnvSource): string[] | null {
  if (platform === "darwin") return ["open"];
  const browser = browserOf(env);
  if (browser.length > 0) return browser;
  const desktop = env.DISPLAY || env.WAYLAND_DISPLAY;
  return platform === "linux" && desktop && Bun.which("xdg-open") ? ["xdg-open"] : null;
}

/** @returns why it did not open, or null */
async function openIn(opener: string[], address: string): Promise<string | null> {
  try {
    const words = opener.map((word) => word.replaceAll("%s", () => address));
    const child = Bun.spawn(
      opener.some((word) => word.includes("%s")) ? words : [...opener, address],
      {
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
        // A browser that it starts lives on; one that hangs does not keep this program.
        detached: true,
      },
    );
    child.unref();
    const code = await Promise.race([child.exited, Bun.sleep(OPEN_MS).then(() => 0)]);
    return code === 0 ? null : `${opener[0]} ended with ${code}`;
  } catch (err) {
    return errorMessage(err);
  }
}

/** Opens the page of a job, session, run, workload, worker or host, and prints its address in any case. */
export async function runOpenCommand(call: ClientCall): Promise<number> {
  const { client, terminal, flags, json, env } = call;
  try {
    const address = client.base_url + (await pathOf(call, call.words[0]));
    const opener = flags.print || json ? null : openerOf(process.platform, env);
    terminal.out(`${json ? jsonText({ url: address }) : address}\n`);
    const trouble = opener === null ? null : await openIn(opener, address);
    if (trouble === null) return EXIT.ok;
    terminal.err(`flotilla: the browser was not opened: ${trouble}\n`);
    return EXIT.failed;
  } catch (err) {
    return tellRefusal(terminal, err);
  }
}

import { quoteWord } from "#hub/platform/quote-word.ts";

/** How a command reaches another host (rules/pipeline-agents#restart-a-worker-over-ssh). */
export interface SshSettings {
  /** Words of the remote command; `{worker_id}` and `{host}` are filled in. */
  readonly command: readonly string[];
  readonly user: string | null;
  /** Further arguments for ssh itself, before the host. */
  readonly options: readonly string[];
}

const CONNECT_S = 10;

/**
 * The command line of ssh. It never asks for a password (BatchMode); ssh keeps the first value of an option, so none of
 * `options` can undo that. `--` keeps a host from being read as an option.
 */
export function sshArgv(
  { command, user, options }: SshSettings,
  { host, worker_id }: { host: string; worker_id: string },
): string[] {
  const fill = (word: string) =>
    word.replaceAll("{worker_id}", worker_id).replaceAll("{host}", host);
  return [
    "ssh",
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    `ConnectTimeout=${CONNECT_S}`,
    ...(user === null ? [] : ["-l", user]),
    ...options,
    "--",
    host,
    // sshd hands one string to a shell there: quoted, each word stays one word and has no special meaning.
    ...command.map((word) => quoteWord(fill(word))),
  ];
}

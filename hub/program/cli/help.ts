import type { Command } from "./commands.ts";
import { EXIT_MEANINGS } from "./exit.ts";
import type { Flag, Mode } from "./flags.ts";
import { flagHead, TOPICS, type Topic, topicOf } from "./topics.ts";

function flagLines(flags: readonly Flag[]): string[] {
  const heads = flags.map(flagHead);
  const width = Math.max(...heads.map((h) => h.length));
  return flags.map(
    (f, i) => `  ${(heads[i] ?? "").padEnd(width)}  ${f.help}${f.env ? ` [${f.env}]` : ""}`,
  );
}

function topicHelp({ name, kind, about, words, flags, examples }: Topic): string {
  const usage = ["flotilla", name, ...words, ...(flags.length > 0 ? ["[flags]"] : [])].join(" ");
  const lines = [`${usage}: ${about}`];
  if (flags.length > 0)
    lines.push("", "Flags [variable they set; the flag wins]:", ...flagLines(flags));
  if (examples.length > 0) lines.push("", "Examples:", ...examples.map((line) => `  ${line}`));
  if (kind === "mode")
    lines.push("", "The guide lists all variables, in /guide/reference/variables of every hub.");
  return lines.join("\n");
}

/** The text of `--help`, for everything or for one mode or command. */
export function helpText(topic: Mode | Command | null): string {
  if (topic !== null) return topicHelp(topicOf(topic));
  const width = Math.max(...TOPICS.map(({ name }) => name.length));
  const about = (kind: Topic["kind"]) =>
    TOPICS.filter((one) => one.kind === kind).map(
      (one) => `  ${one.name.padEnd(width)} ${one.about}`,
    );
  return [
    "flotilla MODE [flags]     (or flotilla --mode MODE)",
    "flotilla COMMAND [flags]",
    "",
    "Modes:",
    ...about("mode"),
    "",
    "Commands, against the hub or control plane at SVC_HUB (http://localhost:8000):",
    ...about("client"),
    "",
    "Commands for the operator of this machine:",
    ...about("operator"),
    "",
    "  --help      this text, or that of one mode or command",
    "  --version   version of the sources",
    "",
    "Exit codes:",
    ...EXIT_MEANINGS.map(([code, meaning]) => `  ${code.padEnd(4)}${meaning}`),
  ].join("\n");
}

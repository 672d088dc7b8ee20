import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMMAND_NAMES } from "#hub/program/cli/commands.ts";
import { bashCompletions } from "#hub/program/cli/completions/bash.ts";
import { runCompletions } from "#hub/program/cli/completions/completions.ts";
import { fishCompletions } from "#hub/program/cli/completions/fish.ts";
import { zshCompletions } from "#hub/program/cli/completions/zsh.ts";
import { UsageError } from "#hub/program/cli/exit.ts";
import { MODES } from "#hub/program/cli/flags.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-completions-"));
  await Bun.write(join(dir, "bash"), bashCompletions());
  await Bun.write(join(dir, "zsh"), zshCompletions());
  await Bun.write(join(dir, "fish"), fishCompletions());
  await Bun.write(join(dir, "here/tasks.csv"), "");
  await Bun.write(join(dir, "here/more/x"), "");
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function shell(argv: string[], cwd = dir): Promise<{ code: number; text: string }> {
  const child = Bun.spawn(argv, { cwd, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, text: out + err };
}

/**
 * What bash itself offers for the last of these words: its own function is called as the shell calls it, with the words
 * broken where the shell breaks them.
 */
async function offered(...words: string[]): Promise<string[]> {
  const script = `
    source ${join(dir, "bash")}
    complete -p flotilla >/dev/null || exit 9
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    compopt() { :; }
    _flotilla
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const argv = ["bash", "--norc", "-c", script, "bash", "flotilla", ...words];
  const { code, text } = await shell(argv, join(dir, "here"));
  expect({ code, text }).toMatchObject({ code: 0 });
  return text.split("\n").filter(Boolean).sort();
}

describe("bash (rules/clients#completions)", () => {
  test("parses what is written for it", async () => {
    expect(await shell(["bash", "-n", join(dir, "bash")])).toEqual({ code: 0, text: "" });
  });

  test("offers every mode and command, and those that begin as typed", async () => {
    expect(await offered("")).toEqual([...MODES, ...COMMAND_NAMES].sort());
    expect(await offered("wor")).toEqual(["worker", "workers", "workloads"]);
    expect(await offered("--ver")).toEqual(["--version"]);
  });

  test("offers the flags of the command, also behind flags with values", async () => {
    expect(await offered("jobs", "--st")).toEqual(["--status"]);
    expect(await offered("jobs", "--limit", "3", "--")).toContain("--status");
    expect(await offered("--hub", "http://a", "jobs", "--he")).toEqual(["--help"]);
    expect(await offered("doctor", "--fetch")).toEqual([]);
    // A switch of this command, a file of another.
    expect(await offered("logs", "-f", "--le")).toEqual(["--level"]);
    expect(await offered("submit", "-f", "--le")).toEqual([]);
  });

  test("offers the choices of a word and of a flag, with and without =", async () => {
    expect(await offered("sessions", "")).toEqual(["close", "list", "open", "show"]);
    expect(await offered("sessions", "--ended", "sh")).toEqual(["show"]);
    expect(await offered("install", "hub", "")).toEqual([]);
    expect(await offered("tokens", "create", "ci", "")).toEqual([
      "admin",
      "operator",
      "submitter",
      "viewer",
    ]);
    expect(await offered("jobs", "--output", "")).toEqual(["json", "table"]);
    expect(await offered("jobs", "--output", "=")).toEqual(["json", "table"]);
    expect(await offered("jobs", "--output", "=", "j")).toEqual(["json"]);
    expect(await offered("jobs", "--output", "=", "json", "--sta")).toEqual(["--status"]);
    expect(await offered("--mode", "w")).toEqual(["worker"]);
    expect(await offered("--mode", "worker", "--lan")).toEqual(["--lanes"]);
  });

  test("offers files where a file is meant, folders where a folder is, else nothing", async () => {
    expect(await offered("submit", "slug", "--csv", "")).toEqual(["more", "tasks.csv"]);
    expect(await offered("submit", "slug", "-f", "ta")).toEqual(["tasks.csv"]);
    expect(await offered("import", "")).toEqual(["more", "tasks.csv"]);
    expect(await offered("dev", "--data-dir", "")).toEqual(["more"]);
    expect(await offered("cancel", "")).toEqual([]);
    expect(await offered("jobs", "--limit", "")).toEqual([]);
  });
});

describe("zsh", () => {
  test("parses what is written for it", async () => {
    expect(await shell(["zsh", "-n", join(dir, "zsh")])).toEqual({ code: 0, text: "" });
  });

  test("loads it beside its own completions", async () => {
    const script = `autoload -Uz compinit && compinit -u -D && source ${join(dir, "zsh")} && print $_comps[flotilla]`;
    expect(await shell(["zsh", "-fc", script])).toEqual({ code: 0, text: "_flotilla\n" });
  });

  test("quotes nothing that ends a quote, and escapes brackets and colons of texts", () => {
    const text = zshCompletions();
    for (const name of COMMAND_NAMES) expect(text).toContain(`\n    '${name}:`);
    expect(text).toContain("'--output=[how it is printed (table)]:json|table:(json table)'");
    expect(text).toContain("'*--option=[");
    for (const line of text.split("\n").filter((one) => /^ {8}'/.test(one)))
      expect(line.match(/'/g)).toHaveLength(2);
  });
});

describe("fish", () => {
  test("parses what is written for it", async () => {
    expect(await shell(["fish", "-n", join(dir, "fish")])).toEqual({ code: 0, text: "" });
  });

  test("offers commands, flags and choices", async () => {
    const ask = async (line: string) =>
      (await shell(["fish", "-c", `source ${join(dir, "fish")}; complete -C '${line}'`])).text
        .split("\n")
        .map((one) => one.split("\t")[0])
        .filter(Boolean)
        .sort();
    expect(await ask("flotilla work")).toEqual(["worker", "workers", "workloads"]);
    expect(await ask("flotilla jobs --sta")).toEqual(["--status"]);
    expect(await ask("flotilla jobs --output ")).toEqual(["json", "table"]);
    expect(await ask("flotilla sessions ")).toEqual(["close", "list", "open", "show"]);
    expect(await ask("flotilla --hub http://a sessions --ended sh")).toEqual(["show"]);
    expect(await ask("flotilla install hub --exit-on")).toEqual([]);
    expect(await ask("flotilla logs -f --le")).toEqual(["--level"]);
    expect(await ask("flotilla ca")).toEqual(["cancel"]);
  });

  test("describes each command and flag once", () => {
    const lines = fishCompletions()
      .split("\n")
      .filter((line) => line.startsWith("complete "));
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.filter((line) => line.includes(" -a jobs "))).toHaveLength(1);
  });
});

test("another shell is refused with those that there are", () => {
  expect(() => runCompletions(["tcsh"], { out: () => {} })).toThrow(UsageError);
  expect(() => runCompletions(["__proto__"], { out: () => {} })).toThrow(UsageError);
  let written = "";
  const out = (text: string) => {
    written += text;
  };
  expect(runCompletions(["bash"], { out })).toBe(0);
  expect(written).toBe(bashCompletions());
});

import { describe, expect, test } from "bun:test";
import { flagOverrides, parseCommandLine } from "#hub/program/cli/args.ts";
import { COMMAND_NAMES } from "#hub/program/cli/commands.ts";
import { EXIT, EXIT_MEANINGS, UsageError } from "#hub/program/cli/exit.ts";
import { MODE_FLAGS, MODES } from "#hub/program/cli/flags.ts";
import { helpText } from "#hub/program/cli/help.ts";
import { TOPICS } from "#hub/program/cli/topics.ts";

const parse = (line: string, env: Record<string, string> = {}) =>
  parseCommandLine(line.split(" ").filter(Boolean), env);
const refusal = (line: string, env: Record<string, string> = {}): string => {
  try {
    parse(line, env);
  } catch (err) {
    if (err instanceof UsageError) return err.message;
    throw err;
  }
  throw new Error(`${line} was accepted`);
};

describe("what to run", () => {
  for (const mode of MODES)
    test(`${mode} is taken as --mode, as the first word and from SVC_MODE`, () => {
      const expected = { kind: "mode", mode, flags: { "log-level": ["warn"] } };
      expect(parse(`--mode ${mode} --log-level warn`)).toEqual(expected as never);
      expect(parse(`--log-level=warn --mode=${mode}`)).toEqual(expected as never);
      expect(parse(`${mode} --log-level warn`)).toEqual(expected as never);
      expect(parse("--log-level warn", { SVC_MODE: mode })).toEqual(expected as never);
    });

  test("the flag --mode wins over SVC_MODE", () => {
    expect(parse("--mode hub", { SVC_MODE: "worker" })).toMatchObject({ mode: "hub" });
  });

  test("a command takes its words and its flags in any order", () => {
    const expected = {
      kind: "command",
      command: "fetch",
      words: ["http://a.test/"],
      flags: { out: ["d"], option: ["idle_seconds=1", "goal=x"], json: ["1"] },
    };
    const flags = "--option idle_seconds=1 --option=goal=x --json";
    expect(parse(`fetch http://a.test/ -o d ${flags}`)).toEqual(expected as never);
    expect(parse(`fetch --out d ${flags} http://a.test/`)).toEqual(expected as never);
  });

  test("the same letter may be a switch of one command and take a value in another", () => {
    expect(parse("logs -f job")).toMatchObject({ words: ["job"], flags: { follow: ["1"] } });
    expect(parse("submit -f job s")).toMatchObject({ words: ["s"], flags: { file: ["job"] } });
  });

  test("a word in brackets may be left out", () => {
    expect(parse("doctor")).toMatchObject({ words: [] });
    expect(parse("doctor hub --json")).toMatchObject({ words: ["hub"] });
    expect(parse("install worker a --now")).toMatchObject({ words: ["worker", "a"] });
  });

  test("what follows -- is a word even when it starts with a dash", () => {
    expect(parse("cancel -- -x")).toMatchObject({ words: ["-x"] });
  });

  test("--help and --version win over everything else on the line", () => {
    expect(parse("hub --nonsense --help")).toEqual({ kind: "help", topic: "hub" });
    expect(parse("--help")).toEqual({ kind: "help", topic: null });
    expect(parse("worker --version")).toEqual({ kind: "version" });
  });
});

describe("what is refused, by name", () => {
  const rows: [string, string][] = [
    ["hub --prot 1", "unknown flag --prot for hub"],
    ["hub --lanes 1", "unknown flag --lanes for hub"],
    ["--prot", "unknown flag --prot"],
    ["hub --port", "--port needs a value"],
    ["hub --port --host x", "--port needs a value"],
    ["hub --port=", "--port needs a value"],
    ["--mode huub", '--mode: "huub" is not one of dev, hub, worker, control'],
    ["huub", 'unknown mode or command "huub"'],
    ["", "no mode given: expected dev, hub, worker, control, or a command"],
    ["hub extra", 'unexpected word "extra" after hub'],
    ["fetch", "fetch needs URL"],
    ["cancel a b", 'unexpected word "b" after cancel'],
    ["fetch http://a/ --json=1", "--json takes no value"],
    ["bench x", 'unexpected word "x" after bench'],
    ["jobs --output xml", '--output: "xml" is not json or table'],
    ["jobs --json --output table", "--output table and --json exclude each other"],
    ["install", "install needs hub|worker|control"],
    ["install worker a b", 'unexpected word "b" after install'],
    ["doctor hub x y", 'unexpected word "y" after doctor'],
    ["backup", "backup needs FILE|DIR"],
    ["restore a --forced", "unknown flag --forced for restore"],
    ["migrate x", 'unexpected word "x" after migrate'],
    ["queue a b", 'unexpected word "b" after queue'],
    ["submit", "submit needs SLUG"],
  ];
  for (const [line, message] of rows)
    test(`"${line}": ${message}`, () => expect(refusal(line)).toBe(message));

  test("a bad SVC_MODE names the variable", () => {
    expect(refusal("", { SVC_MODE: "x" })).toBe(
      'SVC_MODE: "x" is not one of dev, hub, worker, control',
    );
  });
});

describe("what helps next", () => {
  const next = (line: string): string | null => {
    try {
      parse(line);
    } catch (err) {
      if (err instanceof UsageError) return err.next;
    }
    throw new Error(`${line} was accepted`);
  };
  const rows: [string, string][] = [
    ["jbos", "flotilla jobs"],
    ["whatever-this-is", "flotilla --help"],
    ["jobs --statsu x", "flotilla jobs --status"],
    ["jobs --completely-else", "flotilla jobs --help"],
    ["cancel", "flotilla cancel --help"],
    ["cancel a b", "flotilla cancel --help"],
    ["", "flotilla --help"],
  ];
  for (const [line, command] of rows)
    test(`"${line}": ${command} (rules/clients#errors-of-commands)`, () =>
      expect(next(line)).toBe(command));
});

test("--output json is --json, and --output table is what is printed anyway (rules/clients#output-of-commands)", () => {
  expect(parse("jobs --output json")).toMatchObject({ flags: { json: ["1"] } });
  expect(parse("jobs --json --output=json")).toMatchObject({ flags: { json: ["1"] } });
  expect(parse("jobs --output table")).toMatchObject({ flags: {} });
});

test("every command that prints JSON takes --output too", () => {
  for (const { name, flags } of TOPICS)
    if (flags.some((flag) => flag.name === "json"))
      expect({ name, output: flags.some((flag) => flag.name === "output") }).toEqual({
        name,
        output: true,
      });
});

test("the id of a session is a word even where it begins with a dash", () => {
  const id = "-abcdefghij_-klmnopqrs";
  expect(parse(`sessions close ${id}`)).toMatchObject({ words: ["close", id] });
  // As long as one, but a flag.
  expect(refusal("hub --exit-on-stdin-clos")).toBe("unknown flag --exit-on-stdin-clos for hub");
});

test("a flag becomes its variable, the last one given wins, and a switch can be switched off", () => {
  const invocation = parse("dev --port 1 --port 2 --headless-lanes=0 --once");
  if (invocation.kind !== "mode") throw new Error("not a mode");
  expect(flagOverrides(invocation.flags, "dev")).toEqual({
    SVC_PORT: "2",
    SVC_HEADLESS_LANES: "0",
  });
});

test("--help names every mode and command, and each mode's help every flag with its variable", () => {
  const all = helpText(null);
  for (const name of [...MODES, ...COMMAND_NAMES]) expect(all).toContain(`  ${name} `);
  for (const mode of MODES)
    for (const flag of MODE_FLAGS[mode]) {
      expect(helpText(mode)).toContain(`--${flag.name}`);
      if (flag.env) expect(helpText(mode)).toContain(`[${flag.env}]`);
    }
});

test("--help says what every exit code means", () => {
  const told = new Set(EXIT_MEANINGS.map(([code]) => Number(code)));
  expect(Object.values(EXIT).filter((code) => !told.has(code))).toEqual([]);
  for (const [code, meaning] of EXIT_MEANINGS)
    expect(helpText(null)).toMatch(new RegExp(`^ +${code} +${meaning.slice(0, 20)}`, "m"));
});

test("--help of a command shows its words, its choices and lines to begin with, which parse", () => {
  expect(helpText("sessions")).toContain("flotilla sessions [list|show|open|close] [ID…|URL]");
  expect(helpText("sessions")).toContain("--output json|table");
  for (const { name, examples } of TOPICS)
    for (const line of examples) {
      expect(helpText(name)).toContain(`  ${line}`);
      const [, typed] = /^flotilla ([^>]+)/.exec(line) ?? [];
      // What makes room for the next line is no line of the program.
      if (typed === undefined) expect(line).toStartWith("mkdir ");
      else expect(parse(typed)).toMatchObject({ kind: "command", command: name });
    }
});

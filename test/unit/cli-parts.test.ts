import { describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choicesOf } from "#hub/program/cli/choices.ts";
import { paintState, wantsColours } from "#hub/program/cli/colours.ts";
import { fieldLines } from "#hub/program/cli/fields.ts";
import { kindOfId } from "#hub/program/cli/id-kind.ts";
import { beyond, remainder } from "#hub/program/cli/logs/task.ts";
import { nextStep } from "#hub/program/cli/next-step.ts";
import { openerOf } from "#hub/program/cli/open.ts";
import { formatTable } from "#hub/program/cli/print.ts";
import { readBody } from "#hub/program/cli/read-body.ts";
import { systemTerminal } from "#hub/program/cli/terminal.ts";
import { ageText } from "#hub/program/cli/top/draw.ts";
import { frameText } from "#hub/program/cli/top/top.ts";
import { offeredFor } from "#hub/program/cli/topics.ts";
import { newJobId, newSessionId } from "#shared/protocol/ids.ts";

describe("ids (rules/clients#ids-of-commands)", () => {
  test("are told by their form, and names are names", () => {
    for (let i = 0; i < 200; i += 1) {
      expect(kindOfId(newJobId())).toBe("job");
      expect(kindOfId(newSessionId())).toBe("session");
    }
    expect(kindOfId("17")).toBe("run");
    for (const name of ["thumbnails", "w11", "example.com", "", "https://a.test/"])
      expect(kindOfId(name)).toBeNull();
  });
});

describe("what a word or a flag may be", () => {
  test("small letters are choices, capitals stand for something", () => {
    expect(choicesOf("json|table")).toEqual(["json", "table"]);
    expect(choicesOf("[list|show]")).toEqual(["list", "show"]);
    expect(choicesOf("reset-password")).toEqual(["reset-password"]);
    for (const none of ["URL|ID", "N", "KEY=VALUE", "[PK…]", undefined])
      expect(choicesOf(none)).toEqual([]);
    expect(choicesOf("[VERSION|WORKER=VERSION|off|WORKER…]")).toEqual(["off"]);
  });

  test("a shell offers choices, files or folders for it", () => {
    expect(offeredFor("hub|worker")).toEqual({ choices: ["hub", "worker"] });
    expect(offeredFor("FILE|DIR")).toBe("files");
    expect(offeredFor("DIR")).toBe("directories");
    expect(offeredFor("URL")).toBe("nothing");
  });
});

describe("colours (rules/clients#output-of-commands)", () => {
  test("appear on a terminal alone, and nowhere with NO_COLOR or on a dumb terminal", () => {
    expect(wantsColours(true, {})).toBe(true);
    expect(wantsColours(true, { TERM: "xterm" })).toBe(true);
    expect(wantsColours(false, {})).toBe(false);
    expect(wantsColours(true, { NO_COLOR: "1" })).toBe(false);
    expect(wantsColours(true, { TERM: "dumb" })).toBe(false);
  });

  test("paint the head and the states of a table, without moving a column", () => {
    const columns = [{ title: "id" }, { title: "state", state: true as const }, { title: "url" }];
    const rows = [
      ["a", "failed", "failed"],
      ["bcd", "completed", "x"],
      ["e", "other", "y"],
    ];
    const plain = formatTable(columns, rows, null);
    const painted = formatTable(columns, rows, null, true);
    expect(
      Bun.stripANSI(painted)
        .split("\n")
        .map((line) => line.trimEnd()),
    ).toEqual(plain.split("\n"));
    expect(painted).toContain("\u001b[31mfailed   \u001b[0m  failed");
    expect(painted).toContain("\u001b[32mcompleted\u001b[0m");
    expect(painted).toContain("\u001b[1mSTATE");
    expect(plain).not.toContain("\u001b");
    expect(paintState("other")).toBe("other");
  });
});

describe("the process's own terminal", () => {
  const streams = (tty: boolean) => ({
    stdin: {
      isTTY: tty,
      raw: [] as boolean[],
      listeners: new Set<(bytes: Uint8Array) => void>(),
      setRawMode(raw: boolean) {
        this.raw.push(raw);
      },
      on(_: string, listener: (bytes: Uint8Array) => void) {
        this.listeners.add(listener);
      },
      off(_: string, listener: (bytes: Uint8Array) => void) {
        this.listeners.delete(listener);
      },
      resume() {},
      pause() {},
    },
    stdout: { fd: 1, isTTY: tty, columns: 80, rows: 24 },
    stderr: { fd: 2, isTTY: tty, columns: 90 },
  });

  test("knows its size as it is now", () => {
    const of = streams(true);
    const terminal = systemTerminal(of, false, {});
    expect([terminal.width, terminal.height, terminal.liveWidth]).toEqual([80, 24, 90]);
    of.stdout.columns = 120;
    of.stdout.rows = 0;
    expect([terminal.width, terminal.height]).toEqual([120, 24]);
    expect(terminal.colours).toBe(true);
  });

  test("a pipe has no size, no colours and no keys", () => {
    const terminal = systemTerminal(streams(false), false, {});
    expect([terminal.width, terminal.height, terminal.colours]).toEqual([null, null, false]);
    expect(terminal.onKey).toBeUndefined();
  });

  test("tells keys until it is told to stop, and leaves the keyboard as it was", () => {
    const of = streams(true);
    const keys: string[] = [];
    const end = systemTerminal(of, false, {}).onKey?.((key) => keys.push(key));
    for (const listener of of.stdin.listeners) listener(Buffer.from("q"));
    end?.();
    expect(keys).toEqual(["q"]);
    expect(of.stdin.raw).toEqual([true, false]);
    expect(of.stdin.listeners.size).toBe(0);
  });
});

describe("frames of top (rules/clients#top)", () => {
  test("hold what fits, and say how much does not", () => {
    const lines = ["one", "two\nthree", "four", "five"];
    expect(Bun.stripANSI(frameText(lines, 20, 10)).split("\r\n")).toEqual([
      "one",
      "two",
      "three",
      "four",
      "five",
    ]);
    expect(Bun.stripANSI(frameText(lines, 20, 3)).split("\r\n")).toEqual([
      "one",
      "two",
      "… 3 more lines",
    ]);
    const [cut = ""] = Bun.stripANSI(frameText(["\u001b[31mabcdefgh\u001b[0m"], 5, 3)).split("\n");
    expect(cut).toBe("abcd…");
  });

  test("ages are short", () => {
    expect([0, 45, 600, 10_000, null].map(ageText)).toEqual(["0 s", "45 s", "10 min", "2.8 h", ""]);
    expect(ageText(-3)).toBe("0 s");
  });
});

describe("the end of a stream that grows (rules/clients#logs-by-command)", () => {
  test("what is new of it is what follows the end that was seen", () => {
    expect(beyond("", "abc")).toBe("abc");
    expect(beyond("abc", "abcdef")).toBe("def");
    expect(beyond("abcdef", "defghi")).toBe("ghi");
    expect(beyond("abc", "abc")).toBe("");
    expect(beyond("abc", "xyz")).toBe("xyz");
  });

  test("what is left of the whole is told, or that it cannot be", () => {
    expect(remainder("abcdef", "bcd")).toBe("ef");
    expect(remainder("abc", "")).toBe("");
    expect(remainder("abc…xyz", "lost")).toBeNull();
  });
});

test("after a refusal the command is named that helps (rules/clients#errors-of-commands)", () => {
  const next = (status: number, message = "") => nextStep({ status, message });
  expect(next(404, "job not found")).toBe("flotilla jobs");
  expect(next(404, "session not found")).toBe("flotilla sessions");
  expect(next(404, "no workload x")).toBe("flotilla workloads");
  expect(next(404, "gone")).toBeNull();
  expect(next(404, "recording not found")).toBe("flotilla sessions list --ended");
  expect(next(404, "no such path")).toContain("this is a control plane");
  expect(next(401)).toContain("SVC_API_TOKEN");
  expect(next(403)).toContain("flotilla tokens");
  expect(next(403, "the administrator password is required")).toBe("set SVC_ADMIN_PASSWORD");
  expect(next(503)).toContain("flotilla top");
  expect(next(0)).toContain("--hub");
  expect(next(409)).toBeNull();
});

test("an address is opened where there is a desktop (rules/clients#open-in-a-browser)", () => {
  expect(openerOf("darwin", {})).toEqual(["open"]);
  expect(openerOf("linux", { BROWSER: "firefox" })).toEqual(["firefox"]);
  expect(openerOf("linux", { BROWSER: " firefox  -P work :chromium" })).toEqual([
    "firefox",
    "-P",
    "work",
  ]);
  expect(openerOf("linux", {})).toBeNull();
  const desktop = openerOf("linux", { DISPLAY: ":0" });
  expect(desktop).toEqual(Bun.which("xdg-open") ? ["xdg-open"] : null);
  expect(openerOf("win32", {})).toBeNull();
});

test("fields stand below each other, and what has no value is left out", () => {
  expect(
    fieldLines([
      ["a", "1"],
      ["longer", "two\u001b"],
      ["b", null],
      ["c", ""],
    ]),
  ).toBe("a       1\nlonger  two?");
});

test("settings are read as JSON, YAML or TOML by the ending of the file (rules/clients#workloads-and-tasks-by-command)", async () => {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-body-"));
  try {
    const read = async (name: string, text: string) => {
      await writeFile(join(dir, name), text);
      return readBody(join(dir, name));
    };
    const wanted = { slug: "a", executor_config: { argv: ["wc", "-c"] } };
    expect(await read("a.json", JSON.stringify(wanted))).toEqual(wanted);
    expect(await read("a.yml", "slug: a\nexecutor_config: {argv: [wc, -c]}\n")).toEqual(wanted);
    expect(await read("a.toml", 'slug = "a"\n[executor_config]\nargv = ["wc", "-c"]\n')).toEqual(
      wanted,
    );
    await expect(read("b.json", "slug: a")).rejects.toThrow("cannot be read");
    await expect(read("b.yaml", "- a")).rejects.toThrow("must hold one object");
    await expect(read("big.json", " ".repeat(17 * 1024 * 1024))).rejects.toThrow("has more than");
    await expect(readBody(join(dir, "none"))).rejects.toThrow("does not exist");
    await expect(readBody(dir)).rejects.toThrow("is a directory");
    // What has no end either.
    const pipe = join(dir, "pipe");
    await Bun.spawn(["mkfifo", pipe]).exited;
    const endless = Bun.spawn(["sh", "-c", `exec yes > ${pipe}`], { stderr: "ignore" });
    try {
      await expect(readBody(pipe)).rejects.toThrow("has more than");
    } finally {
      endless.kill();
      await endless.exited;
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

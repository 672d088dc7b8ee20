import { expect, test } from "bun:test";
import { join } from "node:path";
import { EXIT_MEANINGS } from "#hub/program/cli/exit.ts";
import { TOPICS } from "#hub/program/cli/topics.ts";

/** `flotilla.1`, as `bun run gen` has written it; that it is current, a check says. */

const FILE = join(import.meta.dir, "../../hub/program/flotilla.1");

async function shown(argv: string[]): Promise<{ out: string; err: string }> {
  const env = { ...process.env, MANWIDTH: "200", LC_ALL: "C.UTF-8" };
  const child = Bun.spawn(argv, { env, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { out, err };
}

const GROFF = ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=200n", FILE];

test("groff sets the manual page without a warning (rules/clients#manual-page)", async () => {
  const { out, err } = await shown(GROFF);
  expect(err).toBe("");
  const text = out.replace(/[‐−]/g, "-");
  expect(text).toMatch(/^ {7}Behind a flag in the lists below/m);
  for (const { name, flags, examples } of TOPICS) {
    expect(text).toContain(`flotilla ${name}`);
    for (const flag of flags) expect(text).toContain(`--${flag.name}`);
    for (const line of examples) expect(text).toContain(line);
  }
  for (const [code] of EXIT_MEANINGS) expect(text).toMatch(new RegExp(`^ +${code}\\b`, "m"));
});

test("man warns of nothing", async () => {
  expect((await shown(["man", "--warnings", "-l", FILE])).err).toBe("");
});

test("mandoc finds no error", async () => {
  const { out, err } = await shown(["mandoc", "-Tlint", "-Werror", FILE]);
  expect(out + err).toBe("");
});

test("what is quoted can be copied into a shell", async () => {
  const text = await Bun.file(FILE).text();
  const lines = text.split("\n").filter((line) => !/^[.']/.test(line));
  expect(lines.filter((line) => /['`^~]/.test(line))).toEqual([]);
  expect(text).toContain("\\(aq0 7 * * *\\(aq");
});

test("nothing in it is taken for a macro, and all of it is ASCII", async () => {
  const text = await Bun.file(FILE).text();
  expect(text).not.toMatch(/[^\n\x20-\x7e]/);
  const macros = text.split("\n").filter((line) => /^[.']/.test(line) && !line.startsWith('.\\"'));
  const known = ["TH", "SH", "SS", "TP", "B", "I", "br", "PP", "nf", "fi", "RS", "RE"];
  expect(macros.filter((line) => !known.includes(line.slice(1).split(" ")[0] ?? ""))).toEqual([]);
});

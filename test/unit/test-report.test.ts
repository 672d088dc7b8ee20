import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  describeFailures,
  type Report,
  readJunit,
  watchOutput,
} from "../../scripts/test-report.ts";

const FAILING = `import { expect, test, describe } from "bun:test";
describe("outer", () => { describe("in <x> & \\"y\\"", () => {
  test("differs", () => { expect({ a: [1, 2] }).toEqual({ a: [1, 3] }); });
  test("throws", async () => { await Promise.reject(new Error("boom <b>\\n" + "line\\n".repeat(100))); });
  test("is fine", () => {});
  test("is late", async () => { await new Promise(() => {}); }, 50);
  test.skip("is left out", () => {});
}); });
`;
const BROKEN = `throw new Error("cannot be loaded");`;

/** What `bun test` itself writes about these two files. */
async function runFailing() {
  const root = mkdtempSync(join(tmpdir(), "flotilla-report-"));
  try {
    await Bun.write(join(root, "failing.test.ts"), FAILING);
    await Bun.write(join(root, "broken.test.ts"), BROKEN);
    const child = Bun.spawn(
      [process.execPath, "test", "--reporter=junit", `--reporter-outfile=${root}/report.xml`],
      { cwd: root, stdin: "ignore", stdout: "ignore", stderr: "pipe" },
    );
    const said: Uint8Array[] = [];
    const watched = watchOutput(child.stderr, (bytes) => said.push(bytes));
    await Promise.all([child.exited, watched.ended]);
    const report = readJunit(await Bun.file(join(root, "report.xml")).text());
    return { report, watched, said: Buffer.concat(said).toString() };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

describe("the report of a group of tests", () => {
  test("counts, and tells each failure with its file, name and message; long ones are cut", async () => {
    const { report, watched, said } = await runFailing();
    expect(report).toMatchObject({ passed: 1, failed: 3, skipped: 1 });
    const { failures } = report as Report;
    expect(failures.map(({ file, name }) => `${file}: ${name}`)).toEqual(
      ["differs", "throws", "is late"].map(
        (name) => `failing.test.ts: outer > in <x> & "y" > ${name}`,
      ),
    );
    const [differs, throws, late] = failures.map(({ text }) => text);
    expect(differs).toContain("+     2,\n");
    expect(differs).toContain("failing.test.ts:3:");
    expect(throws).toStartWith("Error: boom <b>\nline\n");
    expect(throws?.split("\n").length).toBe(31);
    expect(late).toBe("test timed out");

    expect(watched.strays).toEqual([
      {
        file: "broken.test.ts",
        name: "outside of a test",
        text: expect.stringContaining("error: cannot be loaded"),
      },
    ]);
    expect(said).toContain("(pass) outer");
    expect(said).toEndWith(watched.tail());
    expect(describeFailures(failures)).toContain(
      `\n\nFAIL failing.test.ts: outer > in <x> & "y" > is late\n    test timed out`,
    );
  });

  test("is none when the run ended before it was written", () => {
    expect(readJunit("")).toBeNull();
  });
});

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { AppError } from "#shared/kit/errors.ts";
import { createScriptRig, type ScriptRig } from "#test/support/rigs/script-rig.ts";

// Sandboxes start slowly on a busy machine.
setDefaultTimeout(180_000);

let rig: ScriptRig;
beforeAll(() => {
  rig = createScriptRig();
});
afterAll(() => rig.close());

const FLOTILLA = 'import { session, goal, job, save, log, SessionError } from "flotilla";';

describe("a script in its sandbox (rules/scripts#script-module)", () => {
  test("a script acts, saves, logs and returns; positions and options come in as the action's arguments", async () => {
    const outcome = await rig.run(
      `${FLOTILLA}
const heading: string = await session.text("h1");
await session.click("a.next", { click_count: 2 });
await session.click({ selector: "a.next", button: "right" });
await session.click(10, 20);
await session.type("hello");
await session.type("#q", "hello", { delay_ms: 5 });
await session.press("Enter");
await session.wait(1);
await session.wait("networkidle");
await session.wait(".row", { state: "hidden" });
await session.scroll(300);
await session.evaluate((rows: number[]) => rows.length, [1, 2]);
await session.tab("new", "http://shop.test/2");
await session.tab("select", 1);
await session.set_input_files("#file", { name: "a.txt", content: "hey" });
await session.select_option("#size", "XL");
await save("heading.txt", heading);
await save("bytes.bin", new Uint8Array([1, 2, 3]));
await save("rows.json", [{ a: 1 }]);
await save("page.html", new Blob(["<p>"], { type: "text/html" }));
await log("found", heading, { rows: 2 });
await log.warn("odd");
console.log("out"); console.error("err");
export default { heading, goal, job };
`,
    );
    expect(outcome).toMatchObject({
      end: "ok",
      detail: null,
      exit_code: 0,
      stdout: "out\n",
      stderr: "err\n",
      error: null,
      sandbox: "bubblewrap",
      actions: 16,
      run_ms: expect.any(Number),
      first_action_ms: expect.any(Number),
      result: {
        heading: "text",
        goal: "the price",
        job: { url: "http://shop.test/", goal: "the price" },
      },
    });
    expect(rig.acts.map(({ action, args }) => [action, args])).toEqual([
      ["text", { selector: "h1" }],
      ["click", { selector: "a.next", click_count: 2 }],
      ["click", { selector: "a.next", button: "right" }],
      ["click", { x: 10, y: 20 }],
      ["type", { text: "hello" }],
      ["type", { selector: "#q", text: "hello", delay_ms: 5 }],
      ["press", { key: "Enter" }],
      ["wait", { seconds: 1 }],
      ["wait", { load_state: "networkidle" }],
      ["wait", { selector: ".row", state: "hidden" }],
      ["scroll", { amount: 300 }],
      ["evaluate", { code: expect.stringContaining("rows.length"), arg: [1, 2] }],
      ["tab", { op: "new", url: "http://shop.test/2" }],
      ["tab", { op: "select", index: 1 }],
      [
        "set_input_files",
        { selector: "#file", files: [{ name: "a.txt", content_base64: "aGV5" }] },
      ],
      ["select_option", { selector: "#size", values: ["XL"] }],
    ]);
    expect(
      rig.saved.map(({ name, mime, body }) => [name, mime, Buffer.from(body).toString()]),
    ).toEqual([
      ["heading.txt", null, "text"],
      ["bytes.bin", null, "\u0001\u0002\u0003"],
      ["rows.json", "application/json", '[\n  {\n    "a": 1\n  }\n]'],
      ["page.html", "text/html;charset=utf-8", "<p>"],
    ]);
    expect(rig.told).toEqual([
      { level: "info", message: "found text", fields: { rows: 2 } },
      { level: "warn", message: "odd", fields: {} },
    ]);
  });

  test("the result is the default export, what it returns when it is a function, or the value awaited last", async () => {
    const results = await Promise.all(
      [
        "export default Promise.resolve([1]);",
        "export default async ({ session, goal }) => ({ title: await session.text(), goal });",
        `${FLOTILLA}\nconst price: string = await session.text(".price");\nawait log(price);`,
        `${FLOTILLA}\nawait session.text(".price");\nconst done = true;`,
        "const nothing = 1;",
      ].map(async (code) => (await rig.run(code)).result),
    );
    expect(results).toEqual([[1], { title: "text", goal: "the price" }, "text", "text", null]);
  });

  test("pictures and documents are bytes that save takes, a download has its name too", async () => {
    const content_base64 = Buffer.from("bytes").toString("base64");
    const outcome = await rig.run(
      `${FLOTILLA}
const file = await session.read_download();
await save("shot.png", await session.screenshot({ full_page: true }));
await save(file.name, file.bytes, { mime: file.mime });
export default Object.keys(file);`,
      {
        act: (action) =>
          action === "screenshot"
            ? { mime: "image/png", content_base64 }
            : { name: "a.csv", mime: "text/csv", size: 5, content_base64 },
      },
    );
    expect(outcome).toMatchObject({ end: "ok", result: ["name", "mime", "size", "bytes"] });
    expect(
      rig.saved.map(({ name, mime, body }) => [name, mime, Buffer.from(body).toString()]),
    ).toEqual([
      ["shot.png", null, "bytes"],
      ["a.csv", "text/csv", "bytes"],
    ]);
  });

  test("an action that fails is a SessionError with the action's name and words, and the line of the call", async () => {
    const act = () => {
      const error = {
        name: "TimeoutError",
        message: "no .price within 30 s",
        stack: "of the worker",
      };
      throw new AppError("timed_out", "no .price within 30 s", { body: { error } });
    };
    const caught = await rig.run(
      `${FLOTILLA}
try { await session.click(".price"); } catch (err) {
  if (!(err instanceof SessionError)) throw err;
  await save("err.json", { name: err.name, message: err.message, action: err.action, kind: err.kind });
}`,
      { act },
    );
    expect(caught.end).toBe("ok");
    expect(JSON.parse(Buffer.from(rig.saved[0]?.body ?? []).toString())).toEqual({
      name: "TimeoutError",
      message: "no .price within 30 s",
      action: "click",
      kind: "timed_out",
    });
    const thrown = await rig.run(
      `${FLOTILLA}\n\ninterface Row { a: string }\nasync function go(): Promise<void> {\n  await session.click(".price");\n}\nawait go();`,
      { act },
    );
    expect(thrown).toMatchObject({
      end: "error",
      exit_code: 1,
      result: null,
      error: { name: "TimeoutError", message: "no .price within 30 s", line: 5 },
    });
    expect(thrown.error?.stack).toMatch(/script\.ts:5:/);
    expect(thrown.error?.stack).not.toMatch(/flotilla\.ts|run\.ts|\/app/);
  });

  test("what a script throws, and what cannot be parsed, is told with its line", async () => {
    const [thrown, rejected, unparsed, string, exited, long] = await Promise.all([
      rig.run('type T = string;\n\nconst x = JSON.parse("null") as { y: T };\nconsole.log(x.y);'),
      rig.run(
        `${FLOTILLA}\nvoid (async () => { throw new RangeError("late"); })();\nawait session.wait(1);\nawait new Promise(() => {});`,
      ),
      rig.run("const a = 1;\nconst b = ;"),
      rig.run('throw "words";'),
      rig.run("process.exit(3);"),
      rig.run('throw new Error("x".repeat(2_000_000));'),
    ]);
    expect(thrown).toMatchObject({ end: "error", error: { name: "TypeError", line: 4 } });
    expect(rejected).toMatchObject({ end: "error", error: { name: "RangeError", line: 2 } });
    expect(unparsed).toMatchObject({ end: "error", error: { name: "SyntaxError", line: 2 } });
    expect(string).toMatchObject({
      end: "error",
      error: { message: 'thrown: "words"', line: null },
    });
    expect(long.error?.message).toHaveLength(20_000);
    expect(exited).toMatchObject({
      end: "error",
      exit_code: 3,
      error: null,
      detail: "the script exited with code 3",
    });
  });

  test("calls that nobody awaits are made all the same; a result of more than 1 MB is an error", async () => {
    const floating = await rig.run(`${FLOTILLA}\nvoid save("late.txt", "late");`);
    expect(floating.end).toBe("ok");
    expect(rig.saved.map(({ name }) => name)).toEqual(["late.txt"]);
    const large = await rig.run('export default "x".repeat(1_100_000);');
    expect(large).toMatchObject({
      end: "error",
      result: null,
      error: { name: "RangeError", message: expect.stringContaining("save(name, data)") },
    });
  });

  test("of 40 MB on stdout the first and the last 128 KB are kept", async () => {
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    const outcome = await rig.run(
      'const line = "x".repeat(999_999) + "\\n";\nprocess.stdout.write("first\\n");\nfor (let i = 0; i < 40; i += 1) process.stdout.write(line);\nprocess.stdout.write("last\\n");',
    );
    expect(outcome.end).toBe("ok");
    const { length } = outcome.stdout;
    expect(length).toBeWithin(262_144, 262_400);
    expect(outcome.stdout.slice(0, 8)).toBe("first\nxx");
    expect(outcome.stdout.slice(-7)).toBe("x\nlast\n");
    expect(outcome.stdout.slice(131_072, 131_120)).toMatch(/^\n\[… \d+ bytes left out …\]\nx+$/);
    // What it has read and let go may still wait to be collected.
    Bun.gc(true);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
  });

  test("a run ends at its time, when it is cancelled, and before it begins; nothing of it stays", async () => {
    const late = rig.run("for (;;);", { timeout_ms: 1_500 });
    const abort = new AbortController();
    const cancelled = rig.run(`${FLOTILLA}\nawait session.wait(60);`, {
      signal: abort.signal,
      act: (_action, _args, signal) => {
        abort.abort();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null)));
      },
    });
    const gone = AbortSignal.abort();
    expect(await late).toMatchObject({
      end: "timeout",
      detail: "the script did not end within 1.5 s",
    });
    expect(await cancelled).toMatchObject({ end: "cancelled", actions: 1, error: null });
    expect(await rig.run("1", { signal: gone })).toMatchObject({ end: "cancelled", run_ms: 0 });
    expect(leftovers()).toEqual([]);
  });

  test("SVC_SANDBOX=process: the same script without a sandbox, and the outcome says so", async () => {
    const outcome = await rig.run(`${FLOTILLA}\nexport default await session.text("h1");`, {
      kind: "process",
    });
    expect(outcome).toMatchObject({ end: "ok", sandbox: "process", result: "text" });
  });
});

test("where there is no bubblewrap a run ends as broken and says what to install or to set", async () => {
  expect(await rig.run("export default 1;", { path: rig.data_dir })).toMatchObject({
    end: "broken",
    sandbox: "bubblewrap",
    exit_code: null,
    result: null,
    detail:
      "bwrap is not installed: apt-get install bubblewrap, or set SVC_SANDBOX=process, which gives scripts the network and the files of the hub's machine",
  });
});

/** Files of runs that are over, of this process. */
function leftovers(): string[] {
  const own = new RegExp(`^flotilla-run-[0-9a-f]{8}-${process.pid}-`);
  return readdirSync(tmpdir())
    .filter((name) => own.test(name))
    .flatMap((name) => readdirSync(`${tmpdir()}/${name}`))
    .filter((name) => name !== "runtime" && name !== "filter.bpf");
}

import { afterEach, expect } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../servers/ports.ts";
import { PROGRAM, type Program, runProgram, startProgram } from "./program.ts";

// What tests of backups share: directories and programs that end with each test, and data to back up.

const dirs: string[] = [];
const running: Program[] = [];
afterEach(async () => {
  for (const program of running.splice(0)) {
    program.kill("SIGKILL");
    await program.exited;
  }
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});
export const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-backup-test-"));
  dirs.push(dir);
  return dir;
};
export const flotilla = (...words: string[]) => runProgram([...PROGRAM, ...words]);
export const withEnv = (env: Record<string, string>, ...words: string[]) =>
  runProgram([...PROGRAM, ...words], { env });
export const backup = (data: string, to: string) => flotilla("backup", to, "--data-dir", data);
export const restore = (file: string, data: string, ...flags: string[]) =>
  flotilla("restore", file, "--data-dir", data, ...flags);

/** A control plane in a process of its own, over `data`. */
export async function startControl(data: string, more: Record<string, string> = {}) {
  const url = `http://127.0.0.1:${freePort()}`;
  const own = { SVC_DATA_DIR: data, SVC_HOST: "127.0.0.1", SVC_PORT: new URL(url).port };
  const env = { ...own, ...more };
  const program = startProgram([...PROGRAM, "control"], { env });
  running.push(program);
  await program.says("control plane started");
  const call = async (method: string, path: string, body?: unknown, type = "application/json") => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { "content-type": type },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  };
  const stop = async () => {
    program.kill("SIGTERM");
    expect(await program.exited).toBe(0);
  };
  return { call, stop, program };
}

export const BLOB = "/plugins/one/blob/a.txt";
const PLUGIN = { slug: "one", name: "One", version: "1", executor: "command" };

/** Data with a row, an object and a plugin. */
export async function fill(data: string, env: Record<string, string> = {}) {
  mkdirSync(join(data, "plugins/one"), { recursive: true });
  writeFileSync(
    join(data, "plugins/one/plugin.json"),
    JSON.stringify({ ...PLUGIN, argv: ["true"] }),
  );
  const control = await startControl(data, env);
  await control.call("POST", "/workloads", {
    slug: "w",
    executor_type: "command",
    executor_config: { argv: ["true"] },
  });
  await control.call("PUT", BLOB, "the blob", "text/plain");
  return control;
}

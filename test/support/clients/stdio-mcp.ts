import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Somebody else's server of tools for agents, as a program. */
export interface StdioMcp {
  /** The text of a tool's answer. @throws when the tool failed */
  tool(name: string, args?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

const CALL_MS = 60_000;

/** Starts it in a directory of its own, below which such servers write what they saw of pages. */
export async function startStdioMcp(
  command: string[],
  env: Record<string, string> = {},
): Promise<StdioMcp> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-mcp-"));
  const program = Bun.spawn(command, {
    cwd: dir,
    // Such servers leave files there when they are ended.
    env: { ...process.env, TMPDIR: dir, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const fail = (why: string) => {
    for (const { reject } of waiting.values()) reject(new Error(why));
  };
  const read = async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of program.stdout) {
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const { id, result, error } = JSON.parse(line);
        if (error) waiting.get(id)?.reject(new Error(error.message));
        else waiting.get(id)?.resolve(result);
      }
    }
    fail("the server has ended");
  };
  void read();
  let id = 0;
  const say = (message: object) => {
    program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    void program.stdin.flush();
  };
  const ask = async (method: string, params: object): Promise<unknown> => {
    id += 1;
    const answered = Promise.withResolvers<unknown>();
    waiting.set(id, answered);
    const late = setTimeout(() => answered.reject(new Error(`${method}: no answer`)), CALL_MS);
    say({ id, method, params });
    return answered.promise.finally(() => clearTimeout(late));
  };
  await ask("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  say({ method: "notifications/initialized" });
  return {
    tool: async (name, args = {}) => {
      const answer = (await ask("tools/call", { name, arguments: args })) as {
        isError?: boolean;
        content: { text?: string }[];
      };
      const text = answer.content.map((part) => part.text ?? "").join("\n");
      if (answer.isError) throw new Error(`${name}: ${text}`);
      return text;
    },
    close: async () => {
      program.stdin.end();
      await program.exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type ClientCapabilities, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { cleanEnv, PROGRAM } from "../rigs/program.ts";

/** An agent, by the protocol's own client, over either transport. */
export interface Agent {
  readonly client: Client;
  /** Names of the tools that it is told. */
  tools(): Promise<string[]>;
  /** What a tool answers. @throws Error when the tool failed */
  use(name: string, args?: Record<string, unknown>, options?: UseOptions): Promise<Used>;
  /** Why a tool failed. @throws Error when it did not */
  refused(name: string, args?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

interface Used {
  /** Of all parts. */
  text: string;
  pictures: { data: string; mimeType: string }[];
}

interface UseOptions {
  /** Is given each message of progress. */
  onProgress?: (message: string) => void;
  signal?: AbortSignal;
}

export interface AgentOptions {
  token?: string;
  /** A person is shown an address; what they say to it. */
  onAddress?: (url: string, message: string) => "accept" | "decline";
}

const CALL_MS = 120_000;

const TRANSPORTS = {
  stdio: (hub: string, token?: string): Transport => {
    const [command = "", ...args] = PROGRAM;
    const env = cleanEnv({ SVC_API_TOKEN: token }) as Record<string, string>;
    if (token === undefined) delete env.SVC_API_TOKEN;
    return new StdioClientTransport({
      command,
      args: [...args, "mcp", "--hub", hub],
      env,
      stderr: "inherit",
    });
  },
  http: (hub: string, token?: string): Transport =>
    new StreamableHTTPClientTransport(new URL("/mcp", hub), {
      requestInit: token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
    }),
};
export type TransportName = keyof typeof TRANSPORTS;

export async function connectAgent(
  transport: TransportName,
  hub: string,
  { token, onAddress }: AgentOptions = {},
): Promise<Agent> {
  const capabilities: ClientCapabilities = onAddress ? { elicitation: { url: {} } } : {};
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  if (onAddress)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: params.mode === "url" ? onAddress(params.url, params.message) : "decline",
    }));
  await client.connect(TRANSPORTS[transport](hub, token), { timeout: CALL_MS });
  const call = async (
    name: string,
    args: Record<string, unknown>,
    { onProgress, signal }: UseOptions,
  ) => {
    const onprogress =
      onProgress && (({ message = "" }: { message?: string }) => onProgress(message));
    const asked = { name, arguments: args };
    const options = {
      timeout: CALL_MS,
      ...(onprogress && { onprogress }),
      ...(signal && { signal }),
    };
    const { content, isError } = (await client.callTool(asked, undefined, options)) as {
      content: { type: string; text?: string; data?: string; mimeType?: string }[];
      isError?: boolean;
    };
    const text = content.map((part) => part.text ?? "").join("\n");
    const pictures = content
      .filter(({ type }) => type === "image")
      .map(({ data = "", mimeType = "" }) => ({ data, mimeType }));
    return { text, pictures, failed: isError === true };
  };
  return {
    client,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    use: async (name, args = {}, options = {}) => {
      const { failed, ...used } = await call(name, args, options);
      if (failed) throw new Error(`${name}: ${used.text}`);
      return used;
    },
    refused: async (name, args = {}) => {
      const { failed, text } = await call(name, args, {});
      if (!failed) throw new Error(`${name} was not refused: ${text}`);
      return text;
    },
    close: () => client.close(),
  };
}

/** The selector of what a snapshot calls so. */
export function refIn(snapshot: string, element: RegExp): string {
  const line = snapshot.split("\n").find((one) => element.test(one));
  const ref = /\[(ref=\w+)\]/.exec(line ?? "")?.[1];
  if (ref === undefined) throw new Error(`no ${element} in ${snapshot}`);
  return ref;
}

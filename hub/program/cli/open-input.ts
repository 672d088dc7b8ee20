import { UsageError } from "./exit.ts";

/** The bytes of a file; `-` is standard input. @throws UsageError */
export async function openInput(file: string): Promise<ReadableStream<Uint8Array>> {
  if (file === "-") return Bun.stdin.stream();
  const input = Bun.file(file);
  const stat = await input.stat().catch(() => null);
  if (!stat) throw new UsageError(`${file} does not exist`);
  if (stat.isDirectory()) throw new UsageError(`${file} is a directory`);
  return input.stream();
}

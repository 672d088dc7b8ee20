import { createHash } from "node:crypto";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { contentHash } from "#shared/archive/content-hash.ts";
import type { ArchiveFile } from "#shared/archive/read-tar.ts";
import { streamOf } from "#shared/archive/streams.ts";
import { writeTarGz } from "#shared/archive/write-tar.ts";
import type { PluginRef } from "#shared/protocol/schema/pull.ts";
import type { ExecutorType } from "#shared/protocol/schema/workload.ts";
import { CODE_FILES } from "#shared/protocol/schema/workload-code.ts";
import type { PipelineContext } from "../context.ts";

/**
 * Code that a workload carries reaches workers as a plugin of one file (rules/pipeline-code#how-it-reaches-workers), so
 * they fetch, verify and keep it as they do any other plugin.
 */

export type CodeType = keyof typeof CODE_FILES;

export const runsText = (type: ExecutorType): type is CodeType => type in CODE_FILES;

/** Names that no folder may have. */
const MADE = /^code-(of|draft)-/;
export const isMadeName = (slug: string): boolean => MADE.test(slug);
const nameOf = (workload_id: number) => `code-of-${workload_id}`;

interface Code {
  executor_type: CodeType;
  code: string;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Hash and length of code, and the hash of the plugin that is made of it. */
export function hashesOf({ executor_type, code }: Code) {
  const hash = sha256(code);
  const bytes = Buffer.byteLength(code);
  const { file } = CODE_FILES[executor_type];
  const plugin_sha256 = contentHash([{ path: file, size: bytes, sha256: hash }]);
  return { sha256: hash, bytes, plugin_sha256 };
}

/** What a worker unpacks. */
export function archiveOf(of: Code) {
  const { file } = CODE_FILES[of.executor_type];
  async function* files(): AsyncGenerator<ArchiveFile> {
    const bytes = Buffer.from(of.code);
    async function* body() {
      yield bytes;
    }
    yield { path: [file], size: bytes.length, body: body() };
  }
  return { sha256: hashesOf(of).plugin_sha256, open: () => streamOf(writeTarGz(files())) };
}

/** The plugin that a workload's own code is; undefined when it has none. */
export function ownPlugin({
  workload_id,
  code_sha256,
}: Partial<Pick<WorkloadRow, "workload_id" | "code_sha256">>): PluginRef | undefined {
  if (workload_id === undefined || code_sha256 === undefined || code_sha256 === null)
    return undefined;
  return { slug: nameOf(workload_id), path: "", sha256: code_sha256, error: null };
}

/** Its module, for a worker. */
export const moduleIn = (type: ExecutorType): { module: string } | Record<string, never> =>
  runsText(type) ? { module: CODE_FILES[type].module } : {};

/** Of code that is tried without being saved: a worker tries one at a time, so it needs one name. */
export const draftPlugin = (worker_id: string) => `code-draft-${sha256(worker_id).slice(0, 16)}`;
export const draftKey = (plugin: string) => `pull-draft:${plugin}`;

/** The archive of code, saved or being tried, that a worker asks for; null when that name is none of these. */
export async function madeArchive(
  { db, kv, pipeline }: Pick<PipelineContext, "db" | "kv" | "pipeline">,
  plugin: string,
): Promise<ReturnType<typeof archiveOf> | null> {
  if (!isMadeName(plugin)) return null;
  const draft = await kv.get<Code>(draftKey(plugin));
  if (draft) return archiveOf(draft);
  const id = Number(/^code-of-(\d{1,15})$/.exec(plugin)?.[1] ?? Number.NaN);
  // Another control plane may just have saved it.
  if (pipeline.workloads.byId(id) === undefined) await pipeline.workloads.refresh();
  const known = pipeline.workloads.byId(id);
  const row = known && (await db.workloads.get(known.slug));
  const version = row && (await db.workload_versions.get(id, row.code_version));
  if (!version || !runsText(version.executor_type)) return null;
  return archiveOf({ executor_type: version.executor_type, code: version.code });
}

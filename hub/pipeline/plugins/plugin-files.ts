import { join } from "node:path";
import type { ArchiveFile } from "#shared/archive/read-tar.ts";
import { chunksOf, streamOf } from "#shared/archive/streams.ts";
import { writeTarGz } from "#shared/archive/write-tar.ts";
import { badRequest, conflict, notFound } from "#shared/kit/errors.ts";
import type { Plugin } from "#shared/protocol/schema/plugin.ts";
import { madeArchive } from "../code/code-plugin.ts";
import type { PipelineContext } from "../context.ts";
import type { PluginFile, PluginFolder } from "./plugin-folder.ts";

/** GET /plugins/available: broken plugins are listed with their errors (rules/pipeline-plugins#list-plugins). */
export async function listPlugins(ctx: Pick<PipelineContext, "pipeline">): Promise<Plugin[]> {
  await ctx.pipeline.plugins.refresh();
  return ctx.pipeline.plugins
    .all()
    .map(({ slug, path, manifest, sha256, errors }) => ({ slug, path, manifest, sha256, errors }));
}

/** @throws AppError not_found, conflict when it is broken */
async function usablePlugin(ctx: Pick<PipelineContext, "pipeline">, slug: string) {
  await ctx.pipeline.plugins.refresh();
  const plugin = ctx.pipeline.plugins.get(slug);
  if (!plugin) throw notFound("plugin");
  const { sha256 } = plugin;
  if (sha256 === null)
    throw conflict(`plugin ${slug} cannot be used: ${plugin.errors.slice(0, 5).join("; ")}`);
  return { ...plugin, sha256 };
}

/** What a worker unpacks: the folder's files in the order of their names, without times and owners. */
export async function pluginArchive(
  ctx: Pick<PipelineContext, "pipeline" | "db" | "kv">,
  slug: string,
) {
  const made = await madeArchive(ctx, slug);
  if (made) return made;
  const plugin = await usablePlugin(ctx, slug);
  return { sha256: plugin.sha256, open: () => streamOf(writeTarGz(filesOf(plugin))) };
}

async function* filesOf({ path, files }: PluginFolder): AsyncGenerator<ArchiveFile> {
  for (const name of [...files.keys()].sort()) {
    const { size } = files.get(name) as PluginFile;
    yield {
      path: name.split("/"),
      size,
      body: chunksOf(Bun.file(join(path, name)).stream()),
    };
  }
}

/**
 * The file below the plugin's web folder that `path` names; for a folder, its `index.html`. Only what a scan of the
 * folder found is served: no hidden file, nothing behind a link, nothing outside.
 * @throws AppError not_found, bad_request for a path that tries to leave the folder
 */
export async function webFile(
  ctx: Pick<PipelineContext, "pipeline">,
  slug: string,
  path: string,
): Promise<PluginFile & { on_disk: string }> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (path.split(/[/\\]/).includes("..") || /[\\\u0000-\u001f]/.test(path))
    throw badRequest("the path leaves the plugin's folder");
  const plugin = await usablePlugin(ctx, slug);
  const web = plugin.manifest?.web;
  if (web === undefined) throw notFound("web folder of this plugin");
  const name = path === "" || path.endsWith("/") ? `${path}index.html` : path;
  const file = plugin.files.get(`${web}/${name}`);
  if (!file) throw notFound("file");
  return { ...file, on_disk: join(plugin.path, file.path) };
}

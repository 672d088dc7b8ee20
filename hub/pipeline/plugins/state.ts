import { cleanJson } from "#drizzle/clean.ts";
import type { KeyPage } from "#hub/platform/db/pipeline-types.ts";
import type { PluginStateRow } from "#hub/platform/db/rows.ts";
import { pageOfRows } from "#hub/platform/page-of-rows.ts";
import { chunksOf } from "#shared/archive/streams.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { AppError, badRequest, errorMessage, notFound } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import {
  MAX_STATE_BYTES,
  type PluginKeysQuery,
  type PluginState,
} from "#shared/protocol/schema/plugin.ts";
import type { PipelineContext } from "../context.ts";

/** A plugin's key, checked. */
export interface PluginPlace {
  slug: string;
  key: string;
}

/** A value with the version that `If-Match` names. */
export interface StateRead {
  state: PluginState;
  etag: string;
}

const stateRead = ({ key, value, updated_at }: PluginStateRow): StateRead => ({
  state: { key, value: value.value, updated_at: isoTime(updated_at) },
  etag: `"${updated_at}"`,
});

/** @throws AppError not_found */
export async function getState(
  ctx: Pick<PipelineContext, "db">,
  { slug, key }: PluginPlace,
): Promise<StateRead> {
  const row = await ctx.db.plugins.getState(slug, key);
  if (!row) throw notFound("state");
  return stateRead(row);
}

/** One page of keys, in their order. */
export const keysOf = <Row extends { key: string }>(
  { prefix, limit, cursor }: PluginKeysQuery,
  read: (page: KeyPage) => Promise<Row[]>,
) =>
  pageOfRows(
    limit,
    (rows) => read({ prefix, limit: rows, after: cursor ?? null }),
    ({ key }) => key,
  );

export async function listState(
  ctx: Pick<PipelineContext, "db">,
  slug: string,
  query: PluginKeysQuery,
) {
  const { page, next_cursor } = await keysOf(query, (keys) => ctx.db.plugins.listState(slug, keys));
  return {
    states: page.map(({ key, updated_at }) => ({ key, updated_at: isoTime(updated_at) })),
    next_cursor,
  };
}

/** When a write may happen: always, only over a given version, or only when there is no value. */
export type StateCondition = { version: string } | "none" | "any";

/**
 * Stores the JSON text `body` (rules/pipeline-plugins#state).
 * @throws AppError bad_request when it is not JSON, too_large, failed_condition when another version is there.
 */
export async function putState(
  ctx: Pick<PipelineContext, "clock" | "db">,
  place: PluginPlace,
  body: ReadableStream<Uint8Array> | Uint8Array,
  condition: StateCondition,
): Promise<StateRead> {
  const value = parseValue(await readValue(body));
  const expected =
    condition === "any" ? undefined : condition === "none" ? null : versionOf(condition);
  const updated_at = ctx.clock.now();
  const row =
    expected === "unknown"
      ? null
      : await ctx.db.plugins.putState({ ...place, value, updated_at }, expected);
  if (row) return stateRead(row);
  throw new AppError(
    "failed_condition",
    "the stored state does not have the version that the condition names",
  );
}

/** A tag that was never issued names no version. */
const versionOf = ({ version }: { version: string }): number | "unknown" =>
  /^"[0-9]{1,15}"$/.test(version) ? Number(version.slice(1, -1)) : "unknown";

/** The body, read no further than a value may be long. */
async function readValue(body: ReadableStream<Uint8Array> | Uint8Array): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body instanceof Uint8Array ? [body] : chunksOf(body)) {
    size += part.byteLength;
    if (size > MAX_STATE_BYTES)
      throw new AppError("too_large", `a value is at most ${MAX_STATE_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parseValue(body: Uint8Array): unknown {
  try {
    const value = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(body));
    // Answer with the value as later reads will return it.
    return JSON.parse(cleanJson(value));
  } catch (err) {
    throw badRequest(`body is not valid JSON: ${errorMessage(err)}`);
  }
}

/** @throws AppError not_found */
export async function deleteState(
  ctx: Pick<PipelineContext, "db">,
  { slug, key }: PluginPlace,
): Promise<void> {
  if (!(await ctx.db.plugins.deleteState(slug, key))) throw notFound("state");
}

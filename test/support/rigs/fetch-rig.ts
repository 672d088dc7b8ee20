import { lookup } from "node:dns/promises";
import { rmSync } from "node:fs";
import type { z } from "zod";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import type { AssetMeta, DocumentName } from "#shared/protocol/schema/asset.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FetchSettings } from "#worker/browser/fetch/fetch-context.ts";
import { runFetch } from "#worker/browser/fetch/run-fetch.ts";
import type { JobOutcome, JobRun, LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import { createCdpClients } from "#worker/browser/session/cdp-clients.ts";
import { createDialogs, type Dialogs } from "#worker/browser/session/dialogs.ts";
import { createJudge, type JudgeSettings } from "#worker/egress/judge.ts";
import type { AssetSink } from "#worker/upload/asset-sink.ts";

export interface StoredAsset extends AssetMeta {
  size: number;
  sha256: string;
}

export interface FetchResult {
  outcome: JobOutcome;
  assets: StoredAsset[];
  documents: Map<DocumentName, string>;
  pictures: Map<DocumentName, Uint8Array>;
  /** The story, a line each: `stage: message`. */
  log: string[];
}

export interface FetchRequest {
  url: string;
  options?: Partial<Record<keyof JobOptions, unknown>>;
  settings?: Partial<FetchSettings>;
  /** What the job may not open. */
  refuses?: Partial<JudgeSettings>;
  /** What the hub's registries add. */
  extras?: z.input<typeof RunExtras>;
  signal?: AbortSignal;
  /** Hashes the stored file again instead of believing the recorder. */
  verify?: boolean;
  /** Each line of the story as it is told. */
  onLog?: (line: string) => void;
  /** Given what follows the dialogs of the job's pages. */
  onDialogs?: (dialogs: Dialogs) => void;
  /** Given each asset while its file is still there. */
  onAsset?: (asset: StoredAsset, path: string) => Promise<void>;
}

/** Runs one fetch job on `browser`, storing what it captures in memory. */
export async function runFetchJob(
  browser: LaneBrowser,
  request: FetchRequest,
): Promise<FetchResult> {
  const result: Omit<FetchResult, "outcome"> = {
    assets: [],
    documents: new Map(),
    pictures: new Map(),
    log: [],
  };
  const run: JobRun = {
    job_id: "job1",
    url: request.url,
    extras: RunExtras.parse(request.extras ?? {}),
    options: JobOptions.parse({
      idle_seconds: 0.5,
      headless: browser.headless,
      ...request.options,
    }),
    browser,
    tab: null,
    dialogs: createDialogs({
      clock: systemClock,
      clients: createCdpClients(systemClock),
      policy: () => run.options.dialog_policy,
      log: silentLog,
    }),
    blocks: null,
    max_download_bytes: null,
    http_login: request.extras?.http_login ?? null,
    is_recorded: false,
    hide: () => () => {},
    sink: memorySink(result, request.verify ?? true, request.onAsset),
    signal: request.signal ?? new AbortController().signal,
    story: {
      log: (level, stage, message) => {
        result.log.push(`${level} ${stage}: ${message}`);
        request.onLog?.(`${stage}: ${message}`);
      },
    },
  };
  request.onDialogs?.(run.dialogs as Dialogs);
  const settings: FetchSettings = {
    clock: systemClock,
    spool_max_bytes: 4 * 1024 ** 3,
    judge: createJudge({ navigation_block: [], own_ports: [], ...request.refuses }),
    resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    ...request.settings,
  };
  const outcome = await runFetch(run, settings);
  return { outcome, ...result };
}

/** Keeps what is told of the assets, and hashes their files before it removes them. */
function memorySink(
  result: Omit<FetchResult, "outcome">,
  verify: boolean,
  onAsset: FetchRequest["onAsset"],
): AssetSink {
  const work: Promise<void>[] = [];
  let stored = 0;
  return {
    putAsset: (meta, { path, bytes, size, sha256, free }) => {
      const store = async () => {
        const hash = verify ? await hash256(bytes ? new Blob([bytes]) : Bun.file(path)) : sha256;
        if (hash !== sha256)
          throw new Error(`${meta.name}: the spooled file is not what was hashed`);
        await onAsset?.({ ...meta, size, sha256 }, path);
        if (bytes) free?.();
        else rmSync(path);
        result.assets.push({ ...meta, size, sha256 });
        stored += 1;
      };
      work.push(store());
    },
    settled: async () => void (await Promise.all(work)),
    putDocument: (name, content) => {
      if (typeof content === "string") result.documents.set(name, content);
      else if (!("path" in content)) result.pictures.set(name, content);
      stored += 1;
    },
    flush: async () => {
      await Promise.all(work);
      return { stored, failed: [] };
    },
  };
}

async function hash256(body: Blob): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of body.stream()) hasher.update(chunk);
  return hasher.digest("hex");
}
